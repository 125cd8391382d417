import { spawnSync } from 'node:child_process'
import { expect, test as plain } from 'vitest'
import { SUNSET_AT } from '../../src/pets/rest.ts'
import { pathOf, read, temporaryFile } from '../support/files.ts'
import { testWithService as test } from '../support/harness.ts'
import { hasPromtool, whyNoPromtool } from '../support/shell.ts'

const ALERTS = 'deploy/prometheus/alerts.yaml'
const alerts = read(ALERTS)
const dashboardText = read('deploy/grafana/dashboard.json')
const both = alerts + dashboardText

const dashboard = JSON.parse(dashboardText) as { panels: { targets: { expr: string }[] }[] } // of Grafana's format

const namesIn = (text: string) => new Set(text.match(/\b(?:petstore|nodejs|process)_[a-z_0-9]+/g) ?? [])

test('dashboard and alerts use only metrics, labels and values of a running service', async ({ service }) => {
  await service.send('/v1/pets/1')
  await service.graphql('{ pets { totalCount } }')
  await fetch(`${service.base}/v1/pets`)
  const text = await service.metrics()
  const exported = namesIn(text.replace(/^#.*$/gm, ''))
  const wanted = [...namesIn(both)]
  expect(wanted.length).toBeGreaterThan(12)
  expect(wanted.filter((name) => !exported.has(name))).toEqual([])

  const ofPrometheus = ['instance', 'job']
  const labels = new Set([...text.matchAll(/[{,]([a-z_]+)="/g)].map(([, label]) => label).concat(ofPrometheus))
  const grouped = [...both.matchAll(/(?:by|on) \(([a-z_, ]+)\)/g)].flatMap(([, names = '']) => names.split(', '))
  expect(grouped.filter((label) => !labels.has(label))).toEqual([])
  for (const [, name, value] of both.matchAll(/(result|reason|budget)=\\?"(\w+)\\?"/g)) {
    expect(text).toContain(`${name}="${value}"`)
  }
})

plain('the alerts contain the sunset date of getPet', () => {
  expect(alerts).toContain(`vector(${SUNSET_AT.getTime() / 1000}) - time()`)
})

plain.skipIf(!hasPromtool)(`promtool accepts the alerts and the queries of the dashboard${whyNoPromtool}`, () => {
  const queries = dashboard.panels.flatMap(({ targets }) => targets.map(({ expr }) => expr))
  const rules = queries.map((query, n) => ({
    record: `query_${n}`,
    expr: query.replaceAll('$__rate_interval', '5m').replaceAll('$instance', '.*'),
  }))
  const text = JSON.stringify({ groups: [{ name: 'dashboard', rules }] }) // YAML is a superset of JSON
  const files = [pathOf(ALERTS), temporaryFile(text, 'rules.yaml')]
  const { status, stdout, stderr } = spawnSync('promtool', ['check', 'rules', ...files], { encoding: 'utf8' })
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  const counts = [...stdout.matchAll(/SUCCESS: (\d+) rules found/g)].map(([, count]) => Number(count))
  expect(counts).toEqual([alerts.split('- alert:').length - 1, queries.length])
})
