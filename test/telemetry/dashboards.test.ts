import { spawnSync } from 'node:child_process'
import { expect, test as plain } from 'vitest'
import { SUNSET_AT } from '../../src/pets/rest.ts'
import { pathOf, read, temporaryFile } from '../support/files.ts'
import { testWithService as test } from '../support/harness.ts'
import { hasPromtool, whyNoPromtool } from '../support/shell.ts'

const ALERTS = 'deploy/prometheus/alerts.yaml'
const alerts = read(ALERTS)
const dashboardText = read('deploy/grafana/dashboard.json')

const dashboard = JSON.parse(dashboardText) as { panels: { targets: { expr: string }[] }[] } // of Grafana's format

const namesIn = (text: string) => new Set(text.match(/\b(?:petstore|nodejs|process)_[a-z_0-9]+/g) ?? [])

test('dashboard and alerts use only metrics, labels and values of a running service', async ({ service }) => {
  await service.send('/v1/pets/1')
  await service.graphql('{ pets { totalCount } }')
  await fetch(`${service.base}/v1/pets`)
  const text = await service.metrics()
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

plain.skipIf(!hasPromtool)(`the dashboard has valid Prometheus queries${whyNoPromtool}`, () => {
  const queries = dashboard.panels.flatMap(({ targets }) => targets.map(({ expr }) => expr))
  expect(queries.length).toBeGreaterThan(12)
  const rules = queries.map((query, n) => ({
    record: `query_${n}`,
    expr: query.replaceAll('$__rate_interval', '5m').replaceAll('$instance', '.*'),
  }))
  const text = JSON.stringify({ groups: [{ name: 'dashboard', rules }] }) // YAML is a superset of JSON
  expectRules(temporaryFile(text, 'rules.yaml'), queries.length)
})

plain('the alerts contain the sunset date of getPet', () => {
  expect(alerts).toContain(`vector(${SUNSET_AT.getTime() / 1000}) - time()`)
})

plain.skipIf(!hasPromtool)(`the alerts are valid according to promtool${whyNoPromtool}`, () => {
  expectRules(pathOf(ALERTS), alerts.split('- alert:').length - 1)
})

function expectRules(file: string, count: number): void {
  const { status, stdout, stderr } = spawnSync('promtool', ['check', 'rules', file], { encoding: 'utf8' })
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  expect(stdout).toContain(`SUCCESS: ${count} rules found`)
}
