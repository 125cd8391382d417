import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import type { HttpServer } from '../../src/http/connection/server.ts'
import { parseResponse, sendRaw } from '../support/raw-http.ts'
import { app, createShortTimeoutServer, get, head, onRejected, slow } from './short-timeouts.ts'

const server = createShortTimeoutServer()
let port = 0

beforeAll(async () => {
  port = await server.listen(0, '127.0.0.1')
})
afterAll(() => server.close(0, 0))

describe.concurrent('a client that sends on behind its last answer sees it end, and is not cut off', () => {
  const beginnings: [string, number, string][] = [
    ['a body refused unread', 415, 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\nConnection: close\r\n\r\n'],
    ['garbage', 400, 'GARBAGE\r\n\r\n'],
    ['headers without an end', 431, `GET / HTTP/1.1\r\nX: ${'x'.repeat(17_000)}`],
    ['CONNECT', 405, 'CONNECT x:80 HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['half a body', 408, head],
  ]
  test.for(beginnings)('that begins with %s', async ([, status, bytes], { expect }) => {
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true }).setEncoding('latin1')
    socket.write(bytes)
    let received = ''
    socket.on('data', (text: string) => (received += text))
    await once(socket, 'end')
    await sendOn(socket)
    expect(parseResponse(received)).toMatchObject({ status, headers: { connection: 'close' } })
  })
})

describe.concurrent('what comes behind the last answer of a connection has no effect', () => {
  const late = 'GET /late HTTP/1.1\r\nHost: x\r\n\r\n'
  const last = 'GET /last HTTP/1.1\r\nHost: x\r\n\r\n'
  const closing = get.replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n')
  const halves: [string, string, string, string[]][] = [
    ['the end of the headers that were too slow', late.slice(0, -2), '\r\n', ['408']],
    ['the end of the body that was too slow, and the next request', `${head}{"a"`, `:"x"}${late}`, ['408']],
    ['a request behind the one that asked to close', closing, late, ['200']],
    ['a request behind the one that was the last', last, late, ['200']],
    ['a request that comes with the one that was the last', `${last}${late}`, '', ['200']],
    ['a request that comes with CONNECT', `CONNECT x:80 HTTP/1.1\r\nHost: x\r\n\r\n${late}`, '', ['405']],
    ['a request behind CONNECT', 'CONNECT x:80 HTTP/1.1\r\nHost: x\r\n\r\n', late, ['405']],
  ]
  test.for(halves)('%s', async ([title, first, second, statuses], { expect }) => {
    const served = vi.fn<() => void>()
    const path = `/late/${halves.findIndex(([one]) => one === title)}`
    app.get(path, served)
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true }).setEncoding('latin1')
    let received = ''
    socket.on('data', (text: string) => (received += text))
    socket.write(first.replace('/late', path))
    await once(socket, 'end')
    socket.write(second.replace('/late', path))
    await sleep(50)
    socket.end()
    await once(socket, 'close')
    expect(received.match(/(?<=HTTP\/1\.1 )\d+/g)).toEqual(statuses)
    expect(served).not.toHaveBeenCalled()
  })
})

test('garbage in many pieces behind a request that is being answered is answered once, behind it', async () => {
  const warned = vi.fn<(warning: Error) => void>()
  process.on('warning', warned)
  const socket = connect({ port, host: '127.0.0.1', noDelay: true }).setEncoding('latin1')
  let received = ''
  socket.on('data', (text: string) => (received += text))
  socket.write(slow)
  for (let n = 0; n < 30; n++) {
    await sleep(5)
    socket.write('GARBAGE')
  }
  await once(socket, 'close')
  process.off('warning', warned)
  expect(received.match(/(?<=HTTP\/1\.1 )\d+/g)).toEqual(['200', '400'])
  expect(warned).not.toHaveBeenCalled()
})

test('a client that resets behind CONNECT takes nobody with it', async () => {
  const uncaught = vi.fn<() => void>()
  process.on('uncaughtExceptionMonitor', uncaught)
  for (let n = 0; n < 20; n++) {
    const socket = connect({ port, host: '127.0.0.1' })
    await new Promise((sent) => socket.write('CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n', sent))
    if (n % 2) await once(socket, 'data')
    socket.resetAndDestroy()
  }
  expect(parseResponse(await sendRaw(port, get)).status).toBe(200)
  process.off('uncaughtExceptionMonitor', uncaught)
  expect(uncaught).not.toHaveBeenCalled()
})

test('a refusal without a request is told with its id, but not that of a client that never said a byte', async () => {
  onRejected.mockClear()
  const { headers } = parseResponse(await sendRaw(port, 'GARBAGE\r\n\r\n'))
  expect(parseResponse(await sendRaw(port, '')).status).toBe(408)
  expect(onRejected.mock.calls).toEqual([
    [{ requestId: headers['x-request-id'], status: 400, code: 'INVALID_ARGUMENT' }],
  ])
})

describe('the end of the server', () => {
  async function leaving(): Promise<[Socket, HttpServer]> {
    const server = createShortTimeoutServer()
    const socket = connect({ port: await server.listen(0, '127.0.0.1'), host: '127.0.0.1', allowHalfOpen: true })
    socket.write('GARBAGE\r\n\r\n')
    socket.resume()
    await once(socket, 'end')
    return [socket, server]
  }

  test('does not cut off a client that is sending still behind its last answer, nor wait once that has left', async () => {
    const [socket, server] = await leaving()
    const closed = server.close(0, 600_000) // or the test times out
    await sendOn(socket)
    await closed
  })

  test('waits for such a client no longer than for a request', async () => {
    const [socket, server] = await leaving()
    const began = performance.now()
    await server.close(0, 100)
    expect(performance.now() - began).toBeLessThan(500)
    socket.destroy()
  })
})

/** Sends more for a while, then leaves. Rejects when the connection is cut before that. */
async function sendOn(socket: Socket): Promise<void> {
  const sending = setInterval(() => socket.write('more\r\n'.repeat(10_000)), 20)
  setTimeout(() => {
    clearInterval(sending)
    socket.end()
  }, 200)
  await once(socket, 'close').finally(() => clearInterval(sending))
}
