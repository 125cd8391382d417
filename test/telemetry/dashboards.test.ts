import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test as plain } from 'vitest'
import { SUNSET_AT } from '../../src/rest/deprecation.ts'
import { testWithService as test } from '../support/harness.ts'
import { hasPromtool, whySkipped } from './promtool.ts'

const alertsFile = fileURLToPath(new URL('../../deploy/prometheus/alerts.yaml', import.meta.url))
const alerts = readFileSync(alertsFile, 'utf8')
const dashboardText = readFileSync(new URL('../../deploy/grafana/dashboard.json', import.meta.url), 'utf8')

interface Panel {
  id: number
  title: string
  gridPos: { x: number; y: number; w: number; h: number }
  datasource: { uid: string }
  targets: { refId: string; expr: string; datasource: { uid: string } }[]
}
const dashboard = JSON.parse(dashboardText) as {
  panels: Panel[]
  templating: { list: { name: string; type: string; query: unknown }[] }
} // the part of Grafana's format that the tests use

/** The metric names in a text. */
const namesIn = (text: string) => new Set(text.match(/\b(?:petstore|nodejs|process)_[a-z_0-9]+/g) ?? [])

describe('the dashboard and the alerts', () => {
  test('use only metrics, labels and values that a running service exports', async ({ service }) => {
    await service.send('/v1/pets/1')
    await service.graphql('{ pets { totalCount } }')
    await fetch(`${service.base}/v1/pets`)
    const text = await (await service.send('/metrics')).text()
    const exported = namesIn(text.replace(/^#.*$/gm, ''))
    const wanted = [...namesIn(alerts + dashboardText)]
    expect(wanted.length).toBeGreaterThan(12)
    expect(wanted.filter((name) => !exported.has(name))).toEqual([])

    const labels = new Set([...text.matchAll(/[{,]([a-z_]+)="/g)].map((match) => match[1]))
    const prometheus = new Set(['instance', 'job']) // added by Prometheus
    const grouped = [...(alerts + dashboardText).matchAll(/(?:by|on) \(([a-z_, ]+)\)/g)].flatMap((match) =>
      match[1]?.split(', '),
    )
    expect(grouped.filter((label) => !labels.has(label) && !prometheus.has(String(label)))).toEqual([])
    for (const [, name, value] of (alerts + dashboardText).matchAll(/(result|reason|budget)=\\?"(\w+)\\?"/g)) {
      expect(text).toContain(`${name}="${value}"`)
    }
  })
})

describe('the dashboard', () => {
  plain('lets the user choose the Prometheus data source', () => {
    expect(dashboard.templating.list).toContainEqual(
      expect.objectContaining({ name: 'datasource', type: 'datasource', query: 'prometheus' }),
    )
    for (const { datasource, targets } of dashboard.panels) {
      for (const { uid } of [datasource, ...targets.map((target) => target.datasource)])
        expect(uid).toBe('${datasource}')
    }
  })

  plain('has panels with unique ids that do not overlap', () => {
    const { panels } = dashboard
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length)
    const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, n) => `${x + (n % w)},${y + Math.floor(n / w)}`),
    )
    expect(new Set(cells).size).toBe(cells.length)
    expect(Math.max(...panels.map(({ gridPos: { x, w } }) => x + w))).toBe(24) // Grafana's columns
    for (const { targets } of panels) expect(new Set(targets.map(({ refId }) => refId)).size).toBe(targets.length)
  })

  plain.skipIf(!hasPromtool)(`has valid Prometheus queries${whySkipped}`, async ({ onTestFinished }) => {
    const queries = dashboard.panels.flatMap(({ targets }) => targets.map(({ expr }) => expr))
    expect(queries.length).toBeGreaterThan(12)
    const rules = queries.map((query, n) => ({
      record: `query_${n}`,
      expr: query.replaceAll('$__rate_interval', '5m').replaceAll('$instance', '.*'),
    }))
    const dir = await mkdtemp(join(tmpdir(), 'pet-store-rules-'))
    onTestFinished(() => rm(dir, { recursive: true }))
    const file = join(dir, 'rules.yaml')
    await writeFile(file, JSON.stringify({ groups: [{ name: 'dashboard', rules }] })) // YAML is a superset of JSON
    expectRules(file, queries.length)
  })
})

describe('the alerts', () => {
  plain('have a summary and a description of what to do', () => {
    const rules = alerts.split(/^ {6}- alert: /m).slice(1)
    expect(rules.map((rule) => rule.split('\n')[0])).toEqual(
      expect.arrayContaining(['PetStoreInstanceDown', 'PetStoreSheddingLoad']),
    )
    for (const rule of rules) {
      expect(rule).toMatch(/^ {10}summary: '.{20,}'$/m)
      expect(rule).toMatch(/^ {10}description: >-\n( {12}.+\n)+/m)
    }
  })

  plain('contain the sunset date of getPet', () => {
    expect(alerts).toContain(`vector(${SUNSET_AT.getTime() / 1000}) - time()`)
  })

  plain.skipIf(!hasPromtool)(`are valid according to promtool${whySkipped}`, () => {
    expectRules(alertsFile, alerts.split('- alert:').length - 1)
  })
})

function expectRules(file: string, count: number): void {
  const { status, stdout, stderr } = spawnSync('promtool', ['check', 'rules', file], { encoding: 'utf8' })
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  expect(stdout).toContain(`SUCCESS: ${count} rules found`)
}
