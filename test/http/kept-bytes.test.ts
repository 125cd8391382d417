import { once } from 'node:events'
import type { Socket } from 'node:net'
import { expect } from 'vitest'
import { receiveBody } from '../../src/http/body.ts'
import { Deadline } from '../../src/http/deadline.ts'
import { KeptBytes } from '../../src/http/kept-bytes.ts'
import type { Caller } from '../../src/http/request.ts'
import { bearer, testWithService as test } from '../support/harness.ts'
import { usedHeapBytes } from '../support/heap.ts'
import { openSocket, parseResponse, rawPost } from '../support/raw-http.ts'
import { waitFor, waitUntil } from '../support/timeouts.ts'
import { NO_TIMEOUTS, startServerOfFile } from './test-server.ts'

// A busy machine takes longer than the short timeouts.
const { port, events, routes } = await startServerOfFile(NO_TIMEOUTS)

/** More than the kernel's buffers take; two are more than may wait for the clients of one key. */
const SIZE = 5_000_000

const pet = { name: 'x', categoryId: 1 }

/** A body for both APIs without its last byte, a brace. As large as a body may be: one key may have 128 of them. */
const body = JSON.stringify({ ...pet, query: '{ __typename }' })
  .slice(0, -1)
  .padEnd(64 * 1024 - 1)
const MAX_BODIES = 128

/** Why responses were cut, in order. */
const cut: string[] = []

routes.get('/of-key/:id', (req, res) => {
  res.once('close', () => req.errorCode && cut.push(req.errorCode))
  const caller: Pick<Caller, 'clientId'> = { clientId: BigInt(req.params.id) }
  req.caller = caller as Caller // only its client counts
  const body = 'x'.repeat(req.params.id === '0' ? SIZE : SIZE + 1_000_000)
  res.set('Content-Length', String(body.length)).end(body)
  events.emit('waits')
})

routes.get('/never', () => {})
routes.post('/received', async (req, res) => {
  req.deadline = new Deadline(0) // not used
  req.caller = { clientId: 1n } as Caller // only its client counts
  events.emit('received', new WeakRef(await receiveBody(req, res, new KeptBytes())))
  res.json('received')
})

routes.get('/gone', (req, res) => {
  req.caller = { clientId: 1n } as Caller // only its client counts
  res.once('close', () => {
    res.set('Content-Length', String(SIZE)).status(304).end()
    events.emit('ended without client')
  })
  events.emit('begun')
})

test('beyond what may wait for the clients of a key, the response that has waited longest is cut, and no other', async () => {
  const first = await requestAndWait('/of-key/1')
  const other = await requestAndWait('/of-key/2')
  const second = await requestAndWait('/of-key/1')
  expect(await receive(first)).toBeLessThan(SIZE)
  expect(await receive(other)).toBeGreaterThan(SIZE)
  expect(await receive(second)).toBeGreaterThan(SIZE)
  expect(cut.splice(0)).toEqual(['RESOURCE_EXHAUSTED'])
})

test('beyond what may wait for all clients, a response of the key for which most bytes wait is cut, and no other', async () => {
  const clients: Socket[] = []
  for (let n = 0; n < 12; n++) clients.push(await requestAndWait(`/of-key/${n}`))
  const received = await Promise.all(clients.map(receive))
  expect(received.map((bytes) => bytes > SIZE)).toEqual(clients.map((_client, n) => n !== 1))
  expect(cut.splice(0)).toEqual(['UNAVAILABLE'])
})

test('a body is not kept in memory while its response waits behind another one', async () => {
  const received = once(events, 'received')
  openSocket(port, `GET /never HTTP/1.1\r\nHost: x\r\n\r\n${rawPost({ path: '/received', key: '', body: pet })}`)
  const [body] = (await received) as [WeakRef<Buffer>]
  await waitUntil(() => usedHeapBytes() && body.deref() === undefined)
})

test('neither a response to HEAD counts, with the length of a body, nor one to a client that has gone', async () => {
  const first = await requestAndWait('/of-key/1')
  const waits = once(events, 'waits')
  const pipelined = openSocket(port, behindSlow('HEAD /of-key/1 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'))
  await waits
  const ended = once(events, 'ended without client')
  const gone = openSocket(port, behindSlow('GET /gone HTTP/1.1\r\nHost: x\r\n\r\n'))
  await once(events, 'begun')
  gone.resetAndDestroy()
  await ended
  expect(await receive(first)).toBeGreaterThan(SIZE)
  expect(await receive(pipelined)).toBeLessThan(SIZE)
  expect(cut).toEqual([])
})

test('bodies that are arriving count with the responses that wait: the body is 429, or the response is cut', async () => {
  const first = await requestAndWait('/of-key/0')
  const uploads = Array.from({ length: 60 }, () => upload(port, beginPost('') + body))
  await waitFor(() => expect(statuses(uploads)).toContain(429))
  expect(await receive(first)).toBeGreaterThan(SIZE)

  const others = Array.from({ length: 120 }, () => upload(port, beginPost('') + body))
  await waitFor(() => expect(statuses(others)).toContain(429))
  expect(await receive(await requestAndWait('/of-key/0'))).toBeLessThan(SIZE)
})

test('bodies beyond what may arrive of a key are 429; earlier ones and other keys succeed', async ({ service }) => {
  const { key, port } = service
  const other = await service.keys.issue('other', { scopes: ['pets:write'] })
  // Twice, since what has arrived whole does not count any more.
  for (let round = 0; round < 2; round++) {
    const uploads = ['/graphql', '/v1/pets'].flatMap((path) =>
      Array.from({ length: 100 }, () => upload(port, beginPost(key, path) + body)),
    )
    await waitFor(() => expect(statuses(uploads).length).toBeGreaterThanOrEqual(200 - MAX_BODIES))
    expect((await service.post(pet, bearer(other))).status).toBe(201)
    for (const { socket, received } of uploads) if (!received) socket.write('}')
    await waitFor(() => expect(statuses(uploads)).toHaveLength(200))
    expect(new Set(statuses(uploads))).toEqual(new Set([200, 201, 429]))
    const rejected = uploads.filter(({ received }) => received.includes(' 429 '))
    expect(rejected.length).toBeLessThan(200 - MAX_BODIES + 20)
    const response = parseResponse(rejected[0]?.received ?? '')
    expect(JSON.stringify(response.body)).toContain('"RESOURCE_EXHAUSTED"')
    expect(response.headers).toMatchObject({ 'retry-after': '1' })
  }
})

test('beyond what may arrive of all, only the key with most bytes loses bodies: its oldest', async ({ service }) => {
  const { port } = service
  const keys: string[] = []
  for (let n = 0; n < 10; n++) keys.push(await service.keys.issue(`client ${n}`, { scopes: ['pets:write'] }))
  const [largest = '', newcomer = '', ...more] = keys
  const oldest: Upload[] = []
  for (let n = 0; n < 125; n++) {
    const one = upload(port, beginPost(largest, '/v1/pets', 'Expect: 100-continue'))
    await once(one.socket, 'data') // so that they arrive in this order
    one.received = ''
    one.socket.write(body)
    oldest.push(one)
  }
  const start = (key: string, count: number) =>
    Array.from({ length: count }, () => upload(port, beginPost(key, '/v1/pets') + body))
  const others = [...more.flatMap((key) => start(key, 105)), ...start(newcomer, 70)]
  await waitFor(() => expect(oldest[0]?.received).toMatch(/^HTTP\/1\.1 503 /))
  for (const { socket } of others.splice(0, 100)) socket.destroy() // so that those that wait for a turn fit
  expect((await service.post(pet, bearer(newcomer))).status).toBe(201)
  for (const { socket, received } of [...oldest, ...others]) if (!received) socket.write('}')
  await waitFor(() => expect([...statuses(oldest), ...statuses(others)]).toHaveLength(125 + 810))
  expect(new Set(statuses(others))).toEqual(new Set([201]))
  const lost = statuses(oldest).lastIndexOf(503) + 1
  expect(statuses(oldest)).toEqual(oldest.map((_upload, n) => (n < lost ? 503 : 201)))
  expect(parseResponse(oldest[0]?.received ?? '')).toMatchObject({ headers: { 'retry-after': '1' } })
  const { rows } = await service.database.pool.query('SELECT count(*)::int AS count FROM animal')
  expect(rows).toEqual([{ count: 125 - lost + 810 + 1 }])
})

const behindSlow = (request: string) => `GET /slow HTTP/1.1\r\nHost: x\r\n\r\n${request}`

interface Upload {
  socket: Socket
  received: string
}

const beginPost = (key: string, path = '/', ...lines: string[]) =>
  rawPost({ path, key, lines: [...lines, `Content-Length: ${body.length + 1}`] })

function upload(servicePort: number, bytes: string): Upload {
  const one = { socket: openSocket(servicePort, bytes).setEncoding('latin1'), received: '' }
  one.socket.on('data', (text) => (one.received += String(text)))
  return one
}

function statuses(uploads: Upload[]): number[] {
  return uploads.filter(({ received }) => received).map(({ received }) => Number(received.slice(9, 12)))
}

/** Sends a request and reads no response. @returns when the response waits */
async function requestAndWait(path: string): Promise<Socket> {
  const waits = once(events, 'waits')
  const socket = openSocket(port, `GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`).pause()
  await waits
  return socket
}

/** @returns the number of bytes that come until the connection is closed */
async function receive(socket: Socket): Promise<number> {
  socket.resume()
  await once(socket, 'close')
  return socket.bytesRead
}
