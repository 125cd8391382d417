import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { METHODS } from 'node:http'
import { connect } from 'node:net'
import { describe, expect } from 'vitest'
import { loadConfig } from '../../src/config.ts'
import { type Running, test } from '../support/harness.ts'
import { hasPromtool, whySkipped } from './promtool.ts'
import { occupyPort } from '../support/processes.ts'

const metricsOf = async ({ send }: Running) => (await send('/metrics')).text()

/** The service's own time series in a text, without their values. */
const seriesOf = (text: string) =>
  text.split('\n').flatMap((line) => (line.startsWith('petstore_') ? [line.slice(0, line.lastIndexOf(' '))] : []))

/** Pipelines requests, which is fast, and waits for all responses. */
async function pipeline({ port }: Running, requests: string[]): Promise<void> {
  const client = connect(port, '127.0.0.1').setEncoding('latin1')
  const end = once(client, 'close')
  let received = 0
  client.on('data', (text: string) => (received += text.split('HTTP/1.1 ').length - 1))
  for (const request of requests) if (!client.write(request)) await once(client, 'drain')
  client.write('GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n')
  await end
  expect(received).toBe(requests.length + 1)
}

const random = () => Math.random().toString(36).slice(2)

describe('/metrics', () => {
  test('requires a key on PORT', async ({ running }) => {
    const noKey = await fetch(`${running.base}/metrics`)
    expect([noKey.status, noKey.headers.get('www-authenticate')]).toEqual([401, 'Bearer realm="petstore"'])
    const response = await running.send('/metrics')
    expect([response.status, response.headers.get('content-type')]).toEqual([
      200,
      'text/plain; version=0.0.4; charset=utf-8',
    ])
    const wrong = await running.send('/metrics', { method: 'POST' })
    expect([wrong.status, wrong.headers.get('allow')]).toEqual([405, 'GET, HEAD, OPTIONS'])
  })

  test('requires no key on METRICS_PORT, and is on no other port', async ({ running }) => {
    const { server, port } = await occupyPort()
    await new Promise((resolve) => server.close(resolve))
    const service = await running.another({ metricsPort: port })
    expect((await service.send('/metrics')).status).toBe(404)
    const response = await fetch(`http://127.0.0.1:${port}/metrics`)
    expect(response.status).toBe(200)
    expect(await response.text()).toContain('route="/metrics",method="GET",operation="",status="404"')
    const nothing = await fetch(`http://127.0.0.1:${port}/v1/pets`)
    expect([nothing.status, await nothing.json()]).toMatchObject([404, { code: 'NOT_FOUND' }])
    await service.service.stop(0, 0)
    await expect(fetch(`http://127.0.0.1:${port}/metrics`)).rejects.toThrow('fetch failed')
  })

  test('counts requests by route, method, operation and status; errors by code; deprecated calls by key', async ({
    running,
  }) => {
    await running.post({ name: 'Rex', categoryId: 1 })
    await running.send('/v1/pets/1')
    await running.send('/v1/pets/2')
    await running.graphql('{ pets { totalCount } pet(id: 3) { id } }')
    await fetch(`${running.base}/v1/pets`)
    const text = await metricsOf(running)
    const count = 'petstore_request_duration_seconds_count'
    expect(text.split('\n')).toEqual(
      expect.arrayContaining([
        `${count}{route="/v1/pets",method="POST",operation="",status="201"} 1`,
        `${count}{route="/v1/pets/{petId}",method="GET",operation="",status="200"} 1`,
        `${count}{route="/v1/pets/{petId}",method="GET",operation="",status="404"} 1`,
        `${count}{route="/graphql",method="POST",operation="query",status="200"} 1`,
        `${count}{route="/v1/pets",method="GET",operation="",status="401"} 1`,
        'petstore_errors_total{code="NOT_FOUND"} 2',
        'petstore_errors_total{code="UNAUTHENTICATED"} 1',
        `petstore_deprecated_calls_total{key_prefix="${running.key.slice(0, 13)}"} 2`,
        'petstore_key_lookups_total{result="miss"} 1',
        'petstore_key_lookups_total{result="hit"} 4',
        'petstore_shed_total{reason="queue"} 0',
        'petstore_shed_total{reason="event_loop"} 0',
        'petstore_rate_limited_total{budget="key"} 0',
        'petstore_rate_limited_total{budget="wrong-keys"} 0',
        'petstore_database_connections_max 4',
        'petstore_database_connections_busy 0',
        'petstore_database_queue_length 0',
        `petstore_build_info{version="1.0.0",node="${process.version}"} 1`,
      ]),
    )
    expect(text).toMatch(/^petstore_database_connections [1-4]$/m)
    expect(text).toMatch(/^nodejs_eventloop_lag_p99_seconds \d/m)
    expect(text).toMatch(/^process_resident_memory_bytes \d/m)
  })

  test('counts rate-limited requests by rate limiter', async ({ running }) => {
    const service = await running.another({ rateLimits: { ...loadConfig({}).rateLimits, points: 2, wrongKeys: 1 } })
    for (let n = 0; n < 5; n++) await service.send('/v1/pets')
    for (let n = 0; n < 3; n++) await service.send('/v1/pets', { headers: { Authorization: 'Bearer wrong' } })
    const text = await metricsOf(service)
    expect(text).toContain('petstore_rate_limited_total{budget="key"} 3\n')
    expect(text).toContain('petstore_rate_limited_total{budget="wrong-keys"} 2\n')
    expect(text).toContain('petstore_errors_total{code="RESOURCE_EXHAUSTED"} 5\n')
  })

  test('has no more time series after 10,000 requests with random paths, methods and operation names', async ({
    running,
  }) => {
    const methods = METHODS.filter((method) => method !== 'CONNECT')
    const auth = `Host: localhost\r\nAuthorization: Bearer ${running.key}\r\n`
    const request = (method: string, path: string) => `${method} ${path} HTTP/1.1\r\n${auth}\r\n`
    const operation = (name: string) => {
      const body = JSON.stringify({ query: `query ${name} { __typename }`, operationName: name })
      return `POST /graphql HTTP/1.1\r\n${auth}Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`
    }
    const some = (n: number) => [
      ...methods.flatMap((method) => [request(method, `/${n}`), request(method, `/v1/pets/x${n}`)]),
      ...Array.from({ length: 10 }, () => request('GET', `/v1/${random()}`)),
      ...Array.from({ length: 10 }, () => operation(`q${random()}`)),
      request('GET', `/docs/${random()}`),
    ]
    await pipeline(running, some(0))
    const before = seriesOf(await metricsOf(running))
    let requests = 0
    for (let n = 1; requests < 10_000; n++) {
      const more = some(n)
      await pipeline(running, more)
      requests += more.length
    }
    const after = seriesOf(await metricsOf(running))
    // The first scrape is a request itself.
    expect(after.filter((one) => !before.includes(one) && !one.includes('route="/metrics"'))).toEqual([])
    expect(after.length).toBeLessThan(1_000)
  }, 120_000)

  test.skipIf(!hasPromtool)(`passes promtool check metrics${whySkipped}`, async ({ running }) => {
    await running.send('/v1/pets/1')
    const { status, stdout, stderr } = spawnSync('promtool', ['check', 'metrics'], {
      input: await metricsOf(running),
      encoding: 'utf8',
    })
    // prom-client chose the names of its default metrics.
    const ours = `${stdout}${stderr}`.split('\n').filter((line) => line && !/^nodejs_|^process_/.test(line))
    expect(ours).toEqual([])
    expect(status).not.toBe(1) // 1: not parsed; 3: lint warnings
  })
})
