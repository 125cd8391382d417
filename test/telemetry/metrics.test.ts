import { spawnSync } from 'node:child_process'
import { METHODS } from 'node:http'
import { expect } from 'vitest'
import { VERSION } from '../../src/project.ts'
import { createClient } from '../chaos/client.ts'
import { testWithService as test } from '../support/harness.ts'
import { hasPromtool, whyNoPromtool } from '../support/shell.ts'

/** The service's own time series in a text, without their values. */
const seriesOf = (text: string) =>
  text.split('\n').flatMap((line) => (line.startsWith('petstore_') ? [line.slice(0, line.lastIndexOf(' '))] : []))

test('/metrics takes a key on the port of the service', async ({ service }) => {
  const anonymous = await fetch(`${service.base}/metrics`)
  expect([anonymous.status, anonymous.headers.get('www-authenticate')]).toEqual([401, 'Bearer realm="petstore"'])
  const exposition = await service.send('/metrics')
  const type = 'text/plain; version=0.0.4; charset=utf-8'
  expect([exposition.status, exposition.headers.get('content-type')]).toEqual([200, type])
  const post = await service.send('/metrics', { method: 'POST' })
  expect([post.status, post.headers.get('allow')]).toEqual([405, 'GET, HEAD, OPTIONS'])
})

test('/metrics counts requests by route and status, errors by code, and deprecated calls by key', async ({
  service,
}) => {
  await service.post({ name: 'Rex', categoryId: 1 })
  await service.send('/v1/pets/1')
  await service.send('/v1/pets/2')
  await service.graphql('{ pets { totalCount } pet(id: 3) { id } }')
  await fetch(`${service.base}/v1/pets`)
  const text = await service.metrics()
  const count = 'petstore_request_duration_seconds_count'
  expect(text.split('\n')).toEqual(
    expect.arrayContaining([
      `${count}{route="/v1/pets",method="POST",operation="",status="201"} 1`,
      `${count}{route="/v1/pets/{petId}",method="GET",operation="",status="200"} 1`,
      `${count}{route="/v1/pets/{petId}",method="GET",operation="",status="404"} 1`,
      `${count}{route="/graphql",method="POST",operation="query",status="200"} 1`,
      `${count}{route="/v1/pets",method="GET",operation="",status="401"} 1`,
      'petstore_errors_total{route="/v1/pets/{petId}",code="NOT_FOUND"} 1',
      'petstore_errors_total{route="/graphql",code="NOT_FOUND"} 1',
      'petstore_errors_total{route="/v1/pets",code="UNAUTHENTICATED"} 1',
      `petstore_deprecated_calls_total{key_prefix="${service.key.slice(0, 13)}"} 2`,
      'petstore_shed_total{reason="queue"} 0',
      'petstore_shed_total{reason="event_loop"} 0',
      'petstore_rate_limited_total{budget="key"} 0',
      'petstore_rate_limited_total{budget="wrong-keys"} 0',
      'petstore_database_connections_max 4',
      'petstore_database_connections_busy 0',
      'petstore_database_queue_length 0',
      `petstore_build_info{version="${VERSION}",node="${process.version}"} 1`,
    ]),
  )
  for (const result of ['miss', 'hit']) expect(text).toMatch(`petstore_key_lookups_total{result="${result}"} `)
  expect(text).toMatch(/^petstore_database_connections [1-4]$/m)
  expect(text).toMatch(/^nodejs_eventloop_lag_p99_seconds \d/m)
  expect(text).toMatch(/^process_resident_memory_bytes \d/m)
})

test('/metrics has no more series after hundreds of paths, methods and operation names', async ({ service }) => {
  const methods = METHODS.filter((method) => method !== 'CONNECT')
  const client = createClient(service.port, service.key, 8)
  const sendAll = (n: number) => {
    const paths = [`/${n}`, `/v1/${n}`, `/v1/pets/x${n}`, `/docs/${n}`]
    const operation = JSON.stringify({ query: `query q${n} { __typename }`, operationName: `q${n}` })
    return Promise.all([
      ...methods.flatMap((method) => paths.map((path) => client.send(method, path))),
      client.send('POST', '/graphql', operation),
    ])
  }
  await sendAll(0)
  await service.metrics() // which is a request, too
  const before = seriesOf(await service.metrics())
  for (let n = 1; n <= 3; n++) for (const { status } of await sendAll(n)) expect(status).toBeGreaterThan(0)
  client.close()
  expect(seriesOf(await service.metrics())).toEqual(before)
})

test.skipIf(!hasPromtool)(`/metrics is what promtool takes without complaint${whyNoPromtool}`, async ({ service }) => {
  await service.send('/v1/pets/1')
  const input = await service.metrics()
  const { status, stdout, stderr } = spawnSync('promtool', ['check', 'metrics'], { input, encoding: 'utf8' })
  // prom-client defines the names of the metrics of every Node process.
  const problems = `${stdout}${stderr}`.split('\n').filter((line) => line && !/^nodejs_|^process_/.test(line))
  expect(problems).toEqual([])
  expect(status).not.toBe(1) // 1: syntax error; 3: lint problems
})
