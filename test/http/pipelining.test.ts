import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { beforeEach, describe, expect, onTestFinished, vi } from 'vitest'
import { MAX_IN_FLIGHT } from '../../src/http/connection/connection.ts'
import { testWithSharedService as test } from '../support/harness.ts'
import { collect, openSocket, rawPost, sendRaw, statusesIn } from '../support/raw-http.ts'
import { waitUntil } from '../support/timeouts.ts'
import { NO_TIMEOUTS, startServerOfFile } from './test-server.ts'

const { port, events, routes, createServer } = await startServerOfFile(NO_TIMEOUTS)

/** Called with each request for /held, whose response is sent when the app emits `release`. */
const held = vi.fn<() => void>()
routes.all('/held', (_req, res) => {
  held()
  events.once('release', () => res.json('held'))
})
routes.get('/unread', (_req, res) => void res.end(Buffer.alloc(5_000_000)))

beforeEach(() => void held.mockClear())

const hold = 'GET /held HTTP/1.1\r\nHost: x\r\n\r\n'
const unread = 'GET /unread HTTP/1.1\r\nHost: x\r\n\r\n'
const none = 'GET /none HTTP/1.1\r\nHost: x\r\n\r\n'
const last = 'GET /none HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'

describe('every pipelined request of a client that reads has a response, in order', () => {
  const pet = '{"name":"x","categoryId":1}'
  const chunks = `8\r\n{\r\n\r\n\r\n\n\r\n1a\r\n${pet.slice(1)}\r\n0\r\nTrailer: x\r\n\r\n`
  const kinds: { status: number; bytes(key: string): string }[] = [
    { status: 200, bytes: (key) => `GET /v1/pets HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nID\r\n\r\n` },
    { status: 200, bytes: () => 'HEAD /livez HTTP/1.1\r\nHost: x\r\nID\r\n\r\n' },
    { status: 404, bytes: () => '\r\n\r\nGET /none HTTP/1.1\r\nHost: x\r\nID\r\n\r\n' },
    { status: 201, bytes: (key) => rawPost({ key, body: pet, lines: ['ID'] }) },
    { status: 201, bytes: (key) => rawPost({ key, body: pet, lines: ['Expect: 100-continue', 'ID'] }) },
    { status: 201, bytes: (key) => rawPost({ key, lines: ['Transfer-Encoding: chunked', 'ID'] }) + chunks },
    { status: 401, bytes: () => 'GET /v1/pets HTTP/1.1\r\nHost: x\r\nID\r\n\r\n' },
  ]

  test.for([
    { title: 'in one go', pieceLength: Number.POSITIVE_INFINITY },
    { title: 'byte by byte', pieceLength: 1 },
  ])('$title', async ({ pieceLength }, { service }) => {
    const bytes = kinds.map((request, n) => request.bytes(service.key).replace('ID', `X-Request-Id: n${n}`))
    const text = bytes.join('') + last
    const socket = openSocket(service.port, '')
    const response = collect(socket)
    for (let n = 0; n < text.length; n += pieceLength) {
      socket.write(text.slice(n, n + pieceLength))
      await nextTurn()
    }
    const received = await response
    expect(received.match(/(?<=^X-Request-Id: n)\d+/gm)).toEqual(kinds.map((_request, n) => String(n)))
    const statuses = [...kinds.map(({ status }) => status), 404]
    expect(statusesIn(received).filter((status) => status !== 100)).toEqual(statuses)
  })
})

test('of a thousand pipelined requests as many as may be in flight are served, the last response says close, and only one more is parsed [W1]', async () => {
  const parsed = vi.fn<(message: unknown) => void>()
  subscribe('http.server.request.start', parsed)
  onTestFinished(() => void unsubscribe('http.server.request.start', parsed))
  const received = collect(openSocket(port, hold.repeat(1_000)))
  await waitUntil(() => held.mock.calls.length > 0)
  events.emit('release')
  const responses = (await received).split('"held"').slice(0, -1)
  expect(responses.map((response) => /^Connection: close\r$/m.test(response))).toEqual(
    Array.from({ length: MAX_IN_FLIGHT }, (_, n) => n === MAX_IN_FLIGHT - 1),
  )
  expect(held).toHaveBeenCalledTimes(MAX_IN_FLIGHT)
  expect(parsed).toHaveBeenCalledTimes(MAX_IN_FLIGHT + 1)
})

test('a graceful shutdown completes the requests in progress, and executes none that comes after them', async () => {
  const server = createServer()
  const client = openSocket(await server.listen(0, '127.0.0.1'), hold.repeat(2))
  const received = collect(client)
  await waitUntil(() => held.mock.calls.length === 2)
  const closed = server.close(0, 10_000)
  client.write(hold)
  await sendRaw(port, last)
  events.emit('release')
  await closed
  expect(await received).toMatch(
    /^HTTP\/1\.1 200 OK\r\n[^]*"held"HTTP\/1\.1 200 OK\r\n[^]*Connection: close\r\n[^]*"held"$/,
  )
  expect(held).toHaveBeenCalledTimes(2)
})

test('a shutdown waits until a finished response has been received', async () => {
  const closing = createServer()
  const client = openSocket(await closing.listen(0, '127.0.0.1'), unread)
  await once(client, 'readable')
  const closed = closing.close(0, 600_000)
  expect(Buffer.concat(await client.toArray()).length).toBeGreaterThan(5_000_000)
  await closed
})

test('a shutdown closes the connection of a request that takes longer than its timeout [W16]', async () => {
  const closing = createServer()
  const received = collect(openSocket(await closing.listen(0, '127.0.0.1'), hold))
  await waitUntil(() => held.mock.calls.length === 1)
  await closing.close(0, 50)
  expect(await received).toBe('')
})

test('until the end of the drain delay a connection stays open', async () => {
  const closing = createServer()
  const closingPort = await closing.listen(0, '127.0.0.1')
  void closing.close(600_000, 0) // longer than the timeout of the test
  expect(statusesIn(await sendRaw(closingPort, none + last))).toEqual([404, 404])
})

test('after the drain delay a connection is open until a response has said that it closes', async () => {
  const closing = createServer()
  const closingPort = await closing.listen(0, '127.0.0.1')
  const client = openSocket(closingPort, unread)
  await once(client, 'readable') // the headers are sent, and they do not say it
  const closed = closing.close(1, 600_000, 600_000)
  const isRefused = ({ code }: NodeJS.ErrnoException) => code === 'ECONNREFUSED'
  await waitUntil(() => sendRaw(closingPort, last).then(() => false, isRefused))
  client.write(none)
  const received = (await client.toArray()).join('')
  expect(statusesIn(received)).toEqual([200, 404])
  expect(received).toMatch(/404 Not Found\r\n[^]*Connection: close\r\n/)
  await closed
})

test('connections that wait to be accepted at the end of the drain delay are served', async () => {
  const closing = createServer()
  const closingPort = await closing.listen(0, '127.0.0.1')
  const responses = Array.from({ length: 200 }, () => sendRaw(closingPort, none))
  const closed = closing.close(1, 600_000, 600_000)
  for (const received of await Promise.all(responses)) expect(statusesIn(received)).toEqual([404])
  await closed
})
