import { once } from 'node:events'
import { describe, expect } from 'vitest'
import { VERSION } from '../../src/project.ts'
import { bearer, type TestService, testWithService, testWithSharedService as test } from '../support/harness.ts'
import { connectTo, openSocket, parseResponse, rawPost, sendRaw } from '../support/raw-http.ts'
import { waitUntil } from '../support/timeouts.ts'

const number = expect.any(Number)
const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'

/** The line of the one request that is sent with these headers. */
async function lineOf({ send, log }: TestService, path: string, init: RequestInit = {}) {
  const response = await send(path, init)
  const requestId = response.headers.get('x-request-id')
  const line = await log.line({ requestId, msg: 'request' })
  expect(log.lines.filter((one) => one.requestId === requestId && one.msg === 'request')).toEqual([line])
  return line
}

const operation = (query: string, operationName?: string): RequestInit => ({
  method: 'POST',
  headers: { 'Content-Type': 'application/json' },
  body: JSON.stringify({ query, operationName }),
})

describe('each request is one line', () => {
  test('REST: request id, traceparent, prefix of the key, method, route, status, times', async ({ service }) => {
    const line = await lineOf(service, '/v1/pets?limit=3', { headers: { 'X-Request-Id': 'mine-1', traceparent } })
    const key = service.key.slice(0, 13)
    const fields = { requestId: 'mine-1', traceparent, key, method: 'GET', route: '/v1/pets', status: 200 }
    const frame = { level: 30, pid: process.pid, time: expect.any(String), version: VERSION, msg: 'request' }
    expect(line).toEqual({ ...frame, ...fields, ms: number, databaseMs: number })
    expect(line.databaseMs).toBeGreaterThan(0)
    expect(line.ms).toBeGreaterThanOrEqual(Number(line.databaseMs))
  })

  test.for([
    [{ 'apollographql-client-name': 'shop', 'apollographql-client-version': '1.2' }, 'shop 1.2'],
    [{ 'graphql-client-name': 'admin' }, 'admin'],
    [{ 'graphql-client-name': 'x'.repeat(200) }, 'x'.repeat(100)],
  ])('the name and the version of the client: %j', async ([headers, app], { service }) => {
    expect(await lineOf(service, '/v1/pets', { headers: headers as Record<string, string> })).toMatchObject({ app })
  })

  test('a request that waits behind a stream when its client goes', async ({ service }) => {
    const { key, log, port } = service
    const body = { query: 'subscription { petCreated { cursor } }' }
    const stream = rawPost({ path: '/graphql', key, body, lines: ['Accept: text/event-stream'] })
    const queued = `GET /v1/pets/0 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nX-Request-Id: queued\r\n\r\n`
    const socket = openSocket(port, stream + queued)
    await once(socket, 'data')
    socket.destroy()
    await log.line({ requestId: 'queued' })
    await lineOf(service, '/v1/pets') // Node 24 and newer emit `close` of the queued response a second time
    expect(log.lines.filter(({ requestId }) => requestId === 'queued')).toHaveLength(1)
  })

  test('a failed request has its error code, and an unknown path has the route "other"', async ({ service }) => {
    const notFound = { status: 404, code: 'NOT_FOUND' }
    expect(await lineOf(service, '/v1/pets/0')).toMatchObject({ route: '/v1/pets/{petId}', ...notFound })
    expect(await lineOf(service, '/v1/secret-things')).toMatchObject({ route: 'other', ...notFound })
    const noKey = await lineOf(service, '/v1/pets', { headers: { Authorization: '' } })
    expect(noKey).toMatchObject({ route: '/v1/pets', status: 401, code: 'UNAUTHENTICATED', client: '127.0.0.1' })
    expect(noKey).not.toHaveProperty('key')
  })

  test('GraphQL: type and name of the operation, and the error code with status 200', async ({ service }) => {
    const query =
      'query Two { pets { nodes { id } } } mutation Three { createPet(input: {name: "a", categoryId: 1}) { id } }'
    expect((await lineOf(service, '/graphql', operation(query, 'Two'))).operation).toBe('query Two')
    expect((await lineOf(service, '/graphql', operation(query, 'Three'))).operation).toBe('mutation Three')
    const anonymous = await lineOf(service, '/graphql', operation('{ pet(id: 99) { id } }'))
    expect(anonymous).toMatchObject({ operation: 'query', route: '/graphql', status: 200, code: 'NOT_FOUND' })
    expect(anonymous.databaseMs).toBeGreaterThan(0)
    const long = await lineOf(service, '/graphql', operation(`query ${'x'.repeat(60_000)} { pets { totalCount } }`))
    expect(long.operation).toBe(`query ${'x'.repeat(100)}`)
  })

  test('requests without a valid key are at most one line a second for each address, with a count', async ({
    service,
  }) => {
    const peer = await service.startPeer({ TRUSTED_PROXIES: ['loopback'], limits: { failedAuthentications: 10 } })
    for (let n = 0; n < 100; n++) {
      const headers = { Authorization: 'Bearer wrong', 'X-Forwarded-For': `203.0.113.7:${5_000 + n}` } // with a port
      await peer.send('/v1/pets', { headers })
      const socket = await connectTo(peer.port)
      await new Promise((resolve) => socket.write('GET /v1/pets HTTP/1.1\r\nHost: x\r\n\r\n', resolve))
      socket.destroy() // before the response
    }
    const lines = () => peer.log.lines.filter(({ status }) => status === 401 || status === 429)
    await waitUntil(() => lines().reduce((total, { count }) => total + Number(count), 0) === 200)
    const addresses = lines().map(({ client }) => String(client).replace(/:.*/, ''))
    expect(new Set(addresses)).toEqual(new Set(['203.0.113.7', '127.0.0.1']))
    expect(lines().length).toBeLessThan(100)
  })

  test('probes that succeed are not logged at level info', async ({ service }) => {
    for (const path of ['/livez', '/readyz']) expect((await service.send(path)).status).toBe(200)
    await lineOf(service, '/v1/pets')
    expect(service.log.lines.filter(({ route }) => route === '/livez' || route === '/readyz')).toEqual([])
  })
})

test('a request that the HTTP parser rejects is one line with the id of the response, and is counted', async ({
  service,
}) => {
  const peer = await service.startPeer({ limits: { headersTimeoutMs: 1_000 } })
  expect(parseResponse(await sendRaw(peer.port, '')).status).toBe(408) // but a connection without bytes is no request
  const rejected = [
    ['GARBAGE\r\n\r\n', 400, 'INVALID_ARGUMENT'],
    ['CONNECT x:80 HTTP/1.1\r\nHost: x\r\n\r\n', 405, 'METHOD_NOT_ALLOWED'],
    ['GET / HTTP/1.1\r\n', 408, 'REQUEST_TIMEOUT'],
    [`GET /${'x'.repeat(17_000)}`, 431, 'HEADERS_TOO_LARGE'],
  ] as const
  for (const [bytes, status, code] of rejected) {
    const { headers } = parseResponse(await sendRaw(peer.port, bytes))
    const line = await peer.log.line({ requestId: headers['x-request-id'] })
    expect(line).toMatchObject({ level: 30, status, code })
    expect(await peer.metric(`petstore_errors_total{route="other",code="${code}"}`)).toBe(1)
  }
  expect(peer.log.lines.filter(({ route }) => !route)).toHaveLength(rejected.length)
})

describe('what a client sends cannot spoil the log', () => {
  test('an invalid X-Request-Id or traceparent is not logged', async ({ service }) => {
    for (const id of ['a b', '{"a":1}', 'x'.repeat(129)]) {
      const line = await lineOf(service, '/v1/pets', { headers: { 'X-Request-Id': id } })
      expect(line.requestId, id).toMatch(/^[\da-f]{8}-[\da-f-]{27}$/)
    }
    for (const invalid of [
      `00-${'0'.repeat(32)}-b7ad6b7169203331-01`,
      `${traceparent.slice(0, 36)}${'0'.repeat(16)}-01`,
      `ff${traceparent.slice(2)}`,
      traceparent.toUpperCase(),
      `${traceparent}-${'x'.repeat(5_000)}`,
    ]) {
      const line = await lineOf(service, '/v1/pets', { headers: { traceparent: invalid } })
      expect(line, invalid).not.toHaveProperty('traceparent')
    }
  })

  testWithService('no line has a key from a header, path, query string, operation or name', async ({ service }) => {
    const { key, send, log } = service
    await send(`/v1/${key}?key=${key}`)
    const cut = `${'x'.repeat(75)}_${key}` // at 100 characters, inside the key
    const headers = { 'X-Request-Id': key, traceparent: key, 'User-Agent': key, Cookie: key }
    await send('/v1/pets', { headers: { ...headers, 'graphql-client-name': cut } })
    await service.post({ name: key, categoryId: 1 }, { 'Idempotency-Key': key })
    await send('/v1/pets', { headers: bearer(`${key}x`) })
    await send('/graphql', operation(`query ${key} { pets { totalCount } }`))
    await send('/graphql', operation(`query ${cut} { pets { totalCount } }`))
    await waitUntil(() => log.lines.length === 6)
    expect(log.lines.at(-2)).toMatchObject({ operation: `query ${key.slice(0, 13)}…`, status: 200 })
    expect(JSON.stringify(log.lines)).not.toContain(key.slice(0, 14))
  })
})
