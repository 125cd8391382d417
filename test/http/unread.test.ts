import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import type { Caller } from '../../src/auth/api-keys.ts'
import { app, listenForFile } from './short-timeouts.ts'

const port = await listenForFile()

/** More than the kernel's buffers take; two are more than may wait for the clients of one key. */
const SIZE = 5_000_000

app.get('/of-key/:id', (req, res) => {
  const caller: Pick<Caller, 'clientId'> = { clientId: BigInt(req.params.id) }
  req.caller = caller as Caller // only its client counts
  res.end('x'.repeat(req.params.id === '0' ? SIZE : SIZE + 1_000_000))
  app.emit('waits')
})

app.get('/gone', (req, res) => {
  req.caller = { clientId: 1n } as Caller // only its client counts
  res.once('close', () => {
    res.set('Content-Length', String(SIZE)).status(304).end()
    app.emit('ended without client')
  })
  app.emit('begun')
})

test('beyond what may wait for the clients of a key, the response that has waited longest is cut, and no other', async () => {
  const first = await requestAndWait('/of-key/1')
  const other = await requestAndWait('/of-key/2')
  const second = await requestAndWait('/of-key/1')
  expect(await receive(first)).toBeLessThan(SIZE)
  expect(await receive(other)).toBeGreaterThan(SIZE)
  expect(await receive(second)).toBeGreaterThan(SIZE)
})

test('beyond what may wait for all clients, a response of the key for which most bytes wait is cut, and no other', async () => {
  const clients: Socket[] = []
  for (let n = 0; n < 12; n++) clients.push(await requestAndWait(`/of-key/${n}`))
  const received = await Promise.all(clients.map(receive))
  expect(received.map((bytes) => bytes > SIZE)).toEqual(clients.map((_client, n) => n !== 1))
})

test('a response to a client that has gone does not count', async () => {
  const first = await requestAndWait('/of-key/1')
  const ended = once(app, 'ended without client')
  const gone = connect(port, '127.0.0.1')
  gone.write('GET /slow HTTP/1.1\r\nHost: x\r\n\r\nGET /gone HTTP/1.1\r\nHost: x\r\n\r\n')
  await once(app, 'begun')
  gone.resetAndDestroy()
  await ended
  expect(await receive(first)).toBeGreaterThan(SIZE)
})

/** Sends a request and reads no response. @returns when the response waits */
async function requestAndWait(path: string): Promise<Socket> {
  const waits = once(app, 'waits')
  const socket = connect(port, '127.0.0.1').pause()
  onTestFinished(() => void socket.destroy())
  socket.on('error', () => {}) // reset by the server
  socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`)
  await waits
  return socket
}

/** @returns the number of bytes that come until the connection is closed */
async function receive(socket: Socket): Promise<number> {
  socket.resume()
  await once(socket, 'close')
  return socket.bytesRead
}
