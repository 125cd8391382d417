import { once } from 'node:events'
import { connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type ConnectionGroup, openConnections } from '../chaos/connections.ts'
import { parseResponse, sendRaw } from '../support/raw-http.ts'
import { app, createImpatientServer, get, head, times } from './short-timeouts.ts'

const server = createImpatientServer()
let port = 0

beforeAll(async () => {
  port = await server.listen(0, '127.0.0.1')
})
afterAll(() => server.close(0, 0))

const last = (head: string) => head.replace('\r\n', '\r\nConnection: close\r\n')
const tooSlow = { status: 408, code: 'REQUEST_TIMEOUT', message: expect.stringMatching(/\S/) }
const broken = { status: 400, code: 'INVALID_ARGUMENT', message: expect.stringMatching(/\S/) }

describe.concurrent('a client that takes too long gets 408 as JSON, and is closed', () => {
  const slow: [string, string][] = [
    ['nothing at all', ''],
    ['half a request line', 'GET /v1'],
    ['headers without an end', 'GET / HTTP/1.1\r\nHost: x\r\nX-A: b\r\n'],
    ['half a body', `${head}{"a"`],
    ['no body where one was announced', head],
    ['half a chunk', `${head.replace('Content-Length: 9', 'Transfer-Encoding: chunked')}9\r\n{"a"`],
    ['headers byte by byte', 'drip:GET / HTTP/1.1\r\nHost: x\r\nX: '],
    ['a body byte by byte', `drip:${head.replace('9', '99')}`],
  ]
  test.for(slow)('that sends %s', async ([, bytes], { expect }) => {
    const answer = parseResponse(await (bytes.startsWith('drip:') ? drip(bytes.slice(5)) : sendRaw(port, bytes)))
    expect(answer).toMatchObject({ status: 408, body: tooSlow, headers: { connection: 'close' } })
  })

  test('that sends half a body behind a good request gets both answers, in order', async ({ expect }) => {
    const answers = await sendRaw(port, `${get}${head}{"a"`)
    expect(answers.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 408'])
  })
})

test('a thousand of them at once are all told so and closed, and others are served meanwhile', async () => {
  const kinds = ['', 'GET / HTTP/1.1\r\nHost: x\r\nX: ', `${head}{"a"`, `${head.replace('9', '99')}`]
  const crowds: ConnectionGroup[] = []
  for (const [n, say] of kinds.entries())
    crowds.push(await openConnections(port, 250, { send: say, ...(n === 3 && { drip: ' ' }) }))
  for (let n = 0; n < 20; n++) {
    const [read, write] = await Promise.all([sendRaw(port, last(get)), sendRaw(port, `${last(head)}{"a":123}`)])
    expect([parseResponse(read).status, parseResponse(write).status]).toEqual([200, 201])
  }
  await Promise.all(crowds.map((crowd) => crowd.closed(120_000)))
  for (const { left, countByStatus: answered } of crowds)
    expect({ left, answered }).toEqual({ left: 0, answered: new Map([[408, 250]]) })
})

describe.concurrent('a client that closes its half of the connection', () => {
  const parts = [get.slice(0, 9), get.slice(0, -2), head, `${head}{"a"`]
  test.for(parts)('within a request, after %j, gets 400, and is closed', async (bytes, { expect }) => {
    expect(parseResponse(await sendRaw(port, bytes, { halfClose: true }))).toMatchObject({ status: 400, body: broken })
  })

  test('without a request is closed without an answer', async ({ expect }) => {
    expect(await sendRaw(port, '', { halfClose: true })).toBe('')
  })
})

test.concurrent('a client that does not read its answer is closed, later than any other', async ({ expect }) => {
  const socket = connect(port, '127.0.0.1', () => socket.write('GET /large HTTP/1.1\r\nHost: x\r\n\r\n'))
  socket.pause()
  const began = performance.now()
  const ended = new Promise((resolve) => app.once('large over', resolve))
  await ended
  expect(performance.now() - began).toBeGreaterThan(times.requestMs)
  socket.destroy()
})

test.concurrent(
  'a connection without a next request is closed after its time, without an answer',
  async ({ expect }) => {
    expect((await sendRaw(port, get)).match(/HTTP/g)).toHaveLength(1)
  },
)

/** Sends a beginning and then one more byte every 100 ms, for as long as the server lets it. */
async function drip(beginning: string): Promise<string> {
  const socket = connect(port, '127.0.0.1').setEncoding('latin1')
  let received = ''
  socket.on('data', (text: string) => (received += text))
  socket.write(beginning)
  const dripping = setInterval(() => socket.write('x'), 100)
  await once(socket, 'close').finally(() => clearInterval(dripping))
  return received
}
