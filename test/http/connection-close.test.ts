import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test, vi } from 'vitest'
import { collect, openSocket, parseResponse, sendRaw, statusesIn } from '../support/raw-http.ts'
import { get, head, startServerOfFile } from './test-server.ts'

const { port, routes, createServer } = await startServerOfFile()

const connectRequest = 'CONNECT x:80 HTTP/1.1\r\nHost: x\r\n\r\n'

describe.concurrent('a client that keeps sending after its last response receives all of it, without a reset', () => {
  test.for<[beginning: string, status: number, bytes: string]>([
    ['a body that is rejected unread', 415, 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n'],
    ['garbage', 400, 'GARBAGE\r\n\r\n'],
    ['CONNECT', 405, connectRequest],
    ['half a body', 408, head],
  ])('that begins with %s', async ([, status, bytes], { expect }) => {
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
    const received = collect(socket)
    socket.write(bytes)
    await once(socket, 'end')
    await sendOn(socket)
    expect(parseResponse(await received)).toMatchObject({ status, headers: { connection: 'close' } })
  })
})

describe.concurrent('bytes after the last response of a connection have no effect', () => {
  const served = vi.fn<() => void>()
  routes.get('/late', served)
  const late = 'GET /late HTTP/1.1\r\nHost: x\r\n\r\n'
  test.for<[title: string, first: string, second: string, status: number]>([
    ['the end of headers that timed out', late.slice(0, -2), '\r\n', 408],
    ['the end of a body that timed out, and the next request', `${head}{"a"`, `:"x"}${late}`, 408],
    ['a request after a response with Connection: close', 'GET /last HTTP/1.1\r\nHost: x\r\n\r\n', late, 200],
    ['a request after CONNECT', connectRequest, late, 405],
  ])('%s', async ([, first, second, status], { expect }) => {
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
    const received = collect(socket)
    socket.write(first)
    await once(socket, 'end')
    socket.write(second)
    await sleep(50) // the server reads it
    socket.end()
    expect(statusesIn(await received)).toEqual([status])
    expect(served).not.toHaveBeenCalled()
  })
})

describe('a request with Upgrade: h2c is served', () => {
  const upgrade = 'GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n\r\n'

  test('and closes the connection if another request has arrived with it, which the client repeats', async () => {
    const text = await sendRaw(port, upgrade + get)
    expect([statusesIn(text), /^Connection: close\r$/m.test(text)]).toEqual([[200], true])
  })

  test('and closes the connection if the end of its head came in another read', async () => {
    const socket = openSocket(port, upgrade.slice(0, -2))
    const received = collect(socket)
    await sleep(50) // the server reads it
    socket.write(`\r\nX`)
    await once(socket, 'data')
    socket.write(get)
    expect(statusesIn(await received)).toEqual([200])
  })

  test('and keeps the connection open for later requests', async () => {
    const socket = openSocket(port, upgrade)
    const received = collect(socket)
    await once(socket, 'data')
    socket.write(`${get}GET /last HTTP/1.1\r\nHost: x\r\n\r\n`)
    expect(statusesIn(await received)).toEqual([200, 200, 200])
  })
})

test('a client that resets the connection after CONNECT does not affect others', async () => {
  const uncaught = vi.fn<() => void>()
  process.on('uncaughtExceptionMonitor', uncaught)
  for (let n = 0; n < 20; n++) {
    const socket = connect({ port, host: '127.0.0.1' })
    await new Promise((sent) => socket.write(connectRequest, sent))
    if (n % 2) await once(socket, 'data')
    socket.resetAndDestroy()
  }
  expect(parseResponse(await sendRaw(port, get)).status).toBe(200)
  process.off('uncaughtExceptionMonitor', uncaught)
  expect(uncaught).not.toHaveBeenCalled()
})

test('of what a client sends after its last response little is read', async () => {
  const requests = vi.fn<(req: IncomingMessage) => void>()
  routes.post('/rejected', (req, res) => {
    requests(req)
    res.status(401).end()
  })
  const client = connect({ port, host: '127.0.0.1', allowHalfOpen: true }).resume()
  client.on('error', () => {}) // reset when the server stops waiting for the end
  client.write('POST /rejected HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n')
  await once(client, 'end')
  const [{ socket }] = requests.mock.calls[0] as [IncomingMessage] // there is one call
  client.write('1\r\na\r\n'.repeat(3_000_000)) // more than the buffers of TCP hold
  await once(socket, 'close')
  expect(socket.bytesRead).toBeLessThan(300_000)
})

test('a shutdown does not reset a client that keeps sending after its last response, and ends with it', async () => {
  const server = createServer()
  const socket = connect({ port: await server.listen(0, '127.0.0.1'), host: '127.0.0.1', allowHalfOpen: true })
  socket.resume().write('GARBAGE\r\n\r\n')
  await once(socket, 'end')
  const closed = server.close(0, 600_000) // longer than the timeout of the test
  await sendOn(socket)
  await closed
})

/** Keeps sending for a while, then disconnects. Rejects if the connection is reset before that. */
async function sendOn(socket: Socket): Promise<void> {
  const sending = setInterval(() => socket.write('more\r\n'.repeat(100)), 20)
  setTimeout(() => {
    clearInterval(sending)
    socket.end()
  }, 200)
  await once(socket, 'close').finally(() => clearInterval(sending))
}
