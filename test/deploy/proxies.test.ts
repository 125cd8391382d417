import { describe, expect, onTestFinished } from 'vitest'
import { ApiError, type ErrorCode } from '../../src/errors.ts'
import { createClient } from '../chaos/client.ts'
import { startTcpProxy } from '../chaos/tcp-proxy.ts'
import { startBehindProxy } from '../support/behind-proxy.ts'
import { type TestService, testWithSharedService } from '../support/harness.ts'
import { proxyPrograms, startProxyProgram } from '../support/proxies.ts'
import { waitUntil } from '../support/timeouts.ts'

const ORIGIN = 'https://shop.example'
const rest = JSON.stringify({ name: 'Rex', categoryId: 1 })
const graphql = JSON.stringify({ query: 'mutation { createPet(input: { name: "Tom", categoryId: "1" }) { id } }' })

/** A write by each API, and the body of the error with this code. */
function writes(errorCode: ErrorCode): [path: string, body: string, expected: object][] {
  const { code, message, status } = new ApiError(errorCode).body
  return [
    ['/v1/pets', rest, { code, message, status }],
    ['/graphql', graphql, { errors: [{ message, extensions: { code, status } }] }],
  ]
}

const cases = proxyPrograms.map(({ name, whySkipped, installed }) => [name + whySkipped, name, installed] as const)

describe.for(cases)('behind %s', ([, name, installed]) => {
  const test = testWithSharedService.skipIf(!installed)

  /** Starts the proxy in front of a service. Each request has a connection of its own. */
  async function startProxy(port: number, key: string) {
    const proxy = await startProxyProgram(onTestFinished, name, [port])
    async function send(method: string, path: string, body?: string, headers?: Record<string, string>) {
      const client = createClient(proxy.port, key)
      const response = await client.send(method, path, body, { Origin: ORIGIN, ...headers })
      client.close()
      return response
    }
    return { ...proxy, send }
  }

  /** Starts the proxy in front of a service, to which the network can fail. */
  async function startWithNetwork(service: TestService) {
    const network = await startTcpProxy(service.base)
    onTestFinished(() => network.down().catch(() => {})) // it fails when the network is down already
    return { network, ...(await startProxy(Number(new URL(network.url).port), service.key)) }
  }

  test('without a database the service itself responds, readable for pages of its origins', async ({ service }) => {
    const { peer, proxy: database } = await startBehindProxy(service, { CORS_ORIGINS: [ORIGIN] })
    const { send, log } = await startProxy(peer.port, service.key)
    await database.down()
    if (name === 'haproxy')
      await waitUntil(async () => (await log()).includes("backend 'pets' has no server available!"))
    for (const [method, path, body] of [
      ['GET', '/v1/pets', undefined],
      ['POST', '/v1/pets', rest],
      ['POST', '/graphql', graphql],
    ] as const) {
      const { status, headers, body: received } = await send(method, path, body)
      expect([status, received]).toEqual([503, expect.stringContaining('"code":"UNAVAILABLE"')])
      expect(headers).toMatchObject({
        'retry-after': '1',
        'access-control-allow-origin': ORIGIN,
        'access-control-expose-headers': expect.stringContaining('Retry-After'),
        'x-request-id': expect.any(String),
      })
    }
    const preflight = await send('OPTIONS', '/graphql', undefined, { 'Access-Control-Request-Method': 'POST' })
    expect([preflight.status, preflight.headers['access-control-allow-origin']]).toEqual([204, ORIGIN])
  })

  test('a request that reaches no instance is UNAVAILABLE, in the form of its API', async ({ service }) => {
    const { network, send } = await startWithNetwork(service)
    await network.down()
    for (const [path, body, expected] of writes('UNAVAILABLE')) {
      const response = await send('POST', path, body)
      expect([response.status, JSON.parse(response.body)]).toEqual([503, expected])
      expect(response.headers).toMatchObject({
        'content-type': 'application/json',
        'retry-after': '1',
        'access-control-allow-origin': '*',
        'access-control-expose-headers': 'Retry-After',
      })
    }
  })

  test('a write whose response is lost is DEADLINE_EXCEEDED, and no proxy repeats it', async ({ service }) => {
    const { network, send } = await startWithNetwork(service)
    const { pool } = service.database
    const count = async () => (await pool.query('SELECT count(*)::int FROM animal')).rows[0].count
    let animals = await count()
    for (const [path, body, expected] of writes('DEADLINE_EXCEEDED')) {
      animals++
      network.hold('responses')
      const sent = send('POST', path, body)
      await waitUntil(async () => (await count()) === animals)
      network.cut('rst')
      network.restore()
      const { status, headers, body: received } = await sent
      expect([status, JSON.parse(received)]).toEqual([504, expected])
      expect(headers).toMatchObject({ 'content-type': 'application/json', 'access-control-allow-origin': '*' })
      expect(headers).not.toHaveProperty('retry-after')
      expect(await count()).toBe(animals)
    }
  })
})
