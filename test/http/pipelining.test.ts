import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { connect, type Socket } from 'node:net'
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { testWithSharedService } from '../support/harness.ts'
import { sendRaw } from '../support/raw-http.ts'
import { app, createShortTimeoutServer, get, times } from './short-timeouts.ts'

const server = createShortTimeoutServer()
let port = 0

/** Called with each request for /held, whose response is sent when the app emits `release`. */
const held = vi.fn<(req: IncomingMessage) => void>()
app.all('/held', (req, res) => {
  held(req)
  app.once('release', () => res.json('held'))
})
app.get('/unread', (_req, res) => void res.end(Buffer.alloc(5_000_000)))

beforeAll(async () => {
  port = await server.listen(0, '127.0.0.1')
})
beforeEach(() => void held.mockClear())
afterAll(() => server.close(0, 0))

const hold = 'GET /held HTTP/1.1\r\nHost: x\r\n\r\n'
const last = 'GET /none HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'

const statusesIn = (received: string) => [...received.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status)

describe('every pipelined request of a client that reads has a response, in order', () => {
  const create = (key: string, lines: string, body: string) =>
    `POST /v1/pets HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\n${lines}\r\nID\r\n${body}`
  const pet = '{"name":"x","categoryId":1}'
  const chunks = `8\r\n{\r\n\r\n\r\n\n\r\n1a\r\n${pet.slice(1)}\r\n0\r\nTrailer: x\r\n\r\n`
  const kinds: { status: number; bytes(key: string): string }[] = [
    {
      status: 200,
      bytes: (key) => `GET /v1/pets?limit=1 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nID\r\n`,
    },
    { status: 200, bytes: () => 'HEAD /livez HTTP/1.1\r\nHost: x\r\nID\r\n' },
    { status: 404, bytes: () => '\r\n\r\nGET /none HTTP/1.1\r\nHost: x\r\nID\r\n' },
    { status: 200, bytes: () => 'GET /livez HTTP/1.1\r\nHost: x\r\nContent-Length: 6\r\nID\r\n\r\n\r\n\r\n' },
    { status: 201, bytes: (key) => create(key, 'Content-Length: 27', pet) },
    { status: 201, bytes: (key) => create(key, 'Content-Length: 27\r\nExpect: 100-continue', pet) },
    { status: 201, bytes: (key) => create(key, 'Transfer-Encoding: chunked', chunks) },
    { status: 401, bytes: () => create('none', 'Content-Length: 27', pet) },
    { status: 413, bytes: (key) => create(key, 'Content-Length: 70000', ' '.repeat(70_000)) },
    { status: 200, bytes: () => 'GET /livez HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: x\r\nID\r\n' },
  ]

  testWithSharedService.for([
    { title: 'a thousand in one go', kinds, rounds: 100, pieceLength: Number.POSITIVE_INFINITY },
    { title: 'in pieces of 997 bytes', kinds, rounds: 5, pieceLength: 997 },
    { title: 'byte by byte', kinds: kinds.filter(({ status }) => status !== 413), rounds: 2, pieceLength: 1 },
  ])('$title', { timeout: 120_000 }, async ({ kinds, rounds, pieceLength }, { service }) => {
    const requests = Array.from({ length: rounds }, () => kinds).flat()
    const bytes = requests.map((request, n) => request.bytes(service.key).replace('ID', `X-Request-Id: n${n}\r\n`))
    const received = await sendInPieces(service.port, bytes.join('') + last, pieceLength)
    expect(received.match(/(?<=^X-Request-Id: n)\d+/gm)).toEqual(requests.map((_request, n) => String(n)))
    const statuses = [...requests.map(({ status }) => String(status)), '404']
    expect(statusesIn(received).filter((status) => status !== '100')).toEqual(statuses)
  })
})

describe('a client that reads nothing', () => {
  test('has only one of its thousand pipelined requests parsed', async () => {
    const parsed = vi.fn<(message: unknown) => void>()
    subscribe('http.server.request.start', parsed)
    onTestFinished(() => void unsubscribe('http.server.request.start', parsed))
    const client = open('GET /unread HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(1_000))
    client.pause()
    await vi.waitUntil(() => parsed.mock.calls.length > 0)
    const others = 20
    for (let n = 0; n < others; n++) await sendRaw(port, last)
    expect(parsed.mock.calls.length - others).toBe(1)
  })

  test.for([1, 2, 3])('also if the last %i bytes of its first head arrive later', async (count) => {
    const client = open(hold.slice(0, -count))
    await sendRaw(port, last) // the service has read the beginning
    client.write(hold.slice(-count) + hold)
    const requests = () => held.mock.calls.filter(([{ socket }]) => socket.remotePort === client.localPort)
    await vi.waitUntil(() => requests().length > 0)
    await sendRaw(port, last)
    expect(requests()).toHaveLength(1)
    app.emit('release')
  })

  test('is not read from', async () => {
    const client = open(hold)
    await vi.waitUntil(() => held.mock.calls.length > 0)
    const [{ socket }] = held.mock.calls[0] as [IncomingMessage] // there is at least one call
    const before = socket.bytesRead
    for (let n = 0; n < 1_000; n++) {
      await new Promise((sent) => client.write('G', sent))
      await nextTurn()
    }
    expect(socket.bytesRead - before).toBeLessThan(10)
    app.emit('release')
  })
})

test('a client with thousands of pipelined requests does not delay others until all have a response', async () => {
  app.get('/quick', (_req, res) => void res.end())
  const other = open('')
  await once(other, 'connect')
  const client = open('GET /quick HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(2_000))
  let answered = 0
  client.on('data', (text: string) => (answered += statusesIn(text).length))
  await once(client, 'data')
  other.write(last)
  await once(other, 'data')
  expect(answered).toBeLessThan(2_000)
})

test('an incomplete request behind a slow response does not time out while it is not read', async () => {
  const client = open(hold + get.slice(0, -2))
  const closed = collect(client)
  await vi.waitUntil(() => held.mock.calls.length > 0)
  await sleep(times.headersMs + 100)
  await new Promise((sent) => client.write(`\r\n${last}`, sent))
  app.emit('release')
  expect(statusesIn(await closed)).toEqual(['200', '200', '404'])
})

test('a graceful shutdown completes the request in progress, and does not execute the pipelined ones after it', async () => {
  const server = createShortTimeoutServer()
  const client = connect(await server.listen(0, '127.0.0.1'), '127.0.0.1')
  const received = collect(client)
  client.write(hold.repeat(1_000))
  await vi.waitUntil(() => held.mock.calls.length > 0)
  const closed = server.close(0, 10_000)
  app.emit('release')
  await closed
  expect(await received).toMatch(/^HTTP\/1\.1 200 OK\r\n[^]*Connection: close\r\n[^]*"held"$/)
  expect(held).toHaveBeenCalledOnce()
})

/** Connects and sends bytes. The connection is closed after the test. */
function open(bytes: string): Socket {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true }).setEncoding('latin1')
  onTestFinished(() => void socket.destroy())
  socket.write(bytes)
  return socket
}

/** @returns the text that is received until the connection is closed */
async function collect(socket: Socket): Promise<string> {
  let received = ''
  socket.setEncoding('latin1').on('data', (text: string) => (received += text))
  await once(socket, 'close')
  return received
}

/** @returns all that comes until the connection is closed */
async function sendInPieces(port: number, bytes: string, pieceLength: number): Promise<string> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true })
  const received = collect(socket)
  for (let n = 0; n < bytes.length; n += pieceLength) {
    if (!socket.write(bytes.slice(n, n + pieceLength), 'latin1')) await once(socket, 'drain')
    await nextTurn()
  }
  return received
}

test('a shutdown waits until a finished response has been received', async () => {
  const closing = createShortTimeoutServer()
  const started = vi.fn<(message: unknown) => void>()
  subscribe('http.server.request.start', started)
  onTestFinished(() => void unsubscribe('http.server.request.start', started))
  const client = connect(await closing.listen(0, '127.0.0.1'), '127.0.0.1')
  client.pause()
  client.write('GET /unread HTTP/1.1\r\nHost: x\r\n\r\n')
  await vi.waitUntil(() => started.mock.calls.length > 0)
  await nextTurn() // the app has ended the response, which is larger than the buffers of the kernel
  const closed = closing.close(0, 60_000)
  let received = 0
  for await (const bytes of client) received += (bytes as Buffer).length // no encoding is set
  await closed
  expect(received).toBeGreaterThan(5_000_000)
})
