import { connect } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { type ConnectionGroup, openConnections } from '../chaos/connections.ts'
import { parseResponse, sendRaw, statusesIn } from '../support/raw-http.ts'
import { get, head, SHORT_TIMEOUTS, startServerOfFile } from './test-server.ts'

const { port, events, createServer } = await startServerOfFile()

const timedOut = { status: 408, code: 'REQUEST_TIMEOUT', message: expect.stringMatching(/\S/) }
const invalid = { status: 400, code: 'INVALID_ARGUMENT', message: expect.stringMatching(/\S/) }

describe.concurrent('408 as JSON is sent, and the connection is closed, for a slow client [W1]', () => {
  test.for([
    { title: 'nothing', bytes: '' },
    { title: 'headers without an end', bytes: 'GET / HTTP/1.1\r\nHost: x\r\nX-A: b\r\n' },
    { title: 'a part of its body', bytes: `${head}{"a"` },
  ])('that sends $title', async ({ bytes }, { expect }) => {
    const response = parseResponse(await sendRaw(port, bytes))
    expect(response).toMatchObject({ status: 408, body: timedOut, headers: { connection: 'close' } })
  })

  test('that sends a part of a body after a valid request, which gets both responses in order', async ({ expect }) => {
    expect(statusesIn(await sendRaw(port, `${get}${head}{"a"`))).toEqual([200, 408])
  })
})

test('hundreds of slow clients, which may send a byte each second, are all sent 408 and closed, while others are served', async () => {
  let [rejectedInTurn, mostInTurn] = [0, 0]
  // The service's spare time: a busy machine needs more than that of the other tests to respond to hundreds of clients.
  const server = createServer({ ...SHORT_TIMEOUTS, responseSpareMs: 5_000 }, () => {
    if (rejectedInTurn++ === 0) setImmediate(() => (rejectedInTurn = 0))
    mostInTurn = Math.max(mostInTurn, rejectedInTurn)
  })
  onTestFinished(() => server.close(0, 0))
  const port = await server.listen(0, '127.0.0.1')
  const groups: ConnectionGroup[] = []
  for (const kind of [
    { send: '' },
    { send: 'GET / HTTP/1.1\r\nHost: x\r\nX: ', drip: 'x' },
    { send: `${head}{"a"` },
    { send: head.replace('9', '99'), drip: ' ' },
  ])
    groups.push(await openConnections(port, 100, kind))
  const served = await sendRaw(port, `${get}${head.replace('\r\n', '\r\nConnection: close\r\n')}{"a":123}`)
  expect(statusesIn(served)).toEqual([200, 201])
  for (const { closed, countByStatus } of groups) {
    expect(await closed(120_000)).toBeLessThan(Infinity)
    expect(countByStatus).toEqual(new Map([[408, 100]]))
  }
  expect(mostInTurn).toBeLessThan(50) // of 100 that time out together, so that requests are served in between
})

describe.concurrent('a client that half-closes its connection', () => {
  const parts = [get.slice(0, 9), get.slice(0, -2), head, `${head}{"a"`]
  test.for(parts)('within a request, after %j, is sent 400 and closed', async (bytes, { expect }) => {
    expect(parseResponse(await sendRaw(port, bytes, { halfClose: true }))).toMatchObject({ status: 400, body: invalid })
  })

  test('without a request is closed without a response', async ({ expect }) => {
    expect(await sendRaw(port, '', { halfClose: true })).toBe('')
  })
})

test.concurrent('a client that reads no response is closed after the request timeout [W15]', async ({ expect }) => {
  const socket = connect(port, '127.0.0.1', () => socket.write('GET /large HTTP/1.1\r\nHost: x\r\n\r\n'))
  socket.pause()
  const startedAt = performance.now()
  await new Promise((resolve) => events.once('large closed', resolve))
  expect(performance.now() - startedAt).toBeGreaterThan(SHORT_TIMEOUTS.REQUEST_TIMEOUT_MS)
  socket.destroy()
})

test.concurrent('an idle keep-alive connection is closed after its timeout, without a response', async ({ expect }) => {
  expect(statusesIn(await sendRaw(port, get))).toEqual([200])
})
