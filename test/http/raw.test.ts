import { once } from 'node:events'
import { expect } from 'vitest'
import { testWithSharedService as test } from '../support/harness.ts'
import { openSocket, parseResponse, rawPost, sendRaw, statusesIn } from '../support/raw-http.ts'

/** Matches when the complete Error body has been received. */
const until = /"status":\d+\}/

const body = { name: 'x', categoryId: 1 }
const expecting = 'Expect: 100-continue'

test.for([
  ['over the limit', `10000\r\n${' '.repeat(65_536)}\r\n`.repeat(2), 413],
  ['of one byte, in thousands', '1\r\n \r\n'.repeat(5_000), 400],
] as const)('a body in chunks %s is rejected before it is complete', async ([, chunks, status], { service }) => {
  const request = rawPost({ key: service.key, lines: ['Transfer-Encoding: chunked'] }) + chunks
  expect(await sendRaw(service.port, request, { until })).toMatch(`HTTP/1.1 ${status} `)
})

test('CONNECT behind a valid request closes the connection', async ({ service: { port, key } }) => {
  const request = `${rawPost({ key, body })}CONNECT x:80 HTTP/1.1\r\nHost: x\r\n\r\n`
  expect(statusesIn(await sendRaw(port, request))).toEqual([201])
})

test('an unknown expectation is rejected in the format of the API, and logged [W2]', async ({ service }) => {
  const lines = 'Host: x\r\nX-Request-Id: expecting\r\nExpect: foo\r\n\r\n'
  const response = parseResponse(await sendRaw(service.port, `POST /graphql HTTP/1.1\r\n${lines}`))
  expect(response.body).toMatchObject({ errors: [{ extensions: { code: 'EXPECTATION_FAILED', status: 417 } }] })
  expect(response.headers).toMatchObject({ 'x-request-id': 'expecting', connection: 'close' })
  expect(await service.log.line({ requestId: 'expecting' })).toMatchObject({ route: '/graphql', status: 417 })
})

test('100 Continue is never sent to an HTTP/1.0 client (RFC 9110 §10.1.1)', async ({ service: { port, key } }) => {
  const request = rawPost({ key, body, lines: [expecting] }).replace('HTTP/1.1', 'HTTP/1.0')
  expect(parseResponse(await sendRaw(port, request))).toMatchObject({ status: 201, body })
})

test('a header after a thousand others counts', async ({ service: { port, key } }) => {
  const many = Array.from({ length: 1_000 }, () => 'a:')
  const counted = { 'X-Other: y': 201, 'Host: y': 400, 'Idempotency-Key: a b': 400, 'Content-Encoding: gzip': 415 }
  for (const [line, status] of Object.entries(counted)) {
    const request = rawPost({ key, body, lines: ['Connection: close', ...many, line] })
    expect(statusesIn(await sendRaw(port, request)), line).toEqual([status])
  }
})

test('100 Continue is sent only for a body that the service reads', async ({ service: { port, key } }) => {
  const tooLarge = rawPost({ key, lines: [expecting, 'Content-Length: 9999999'] })
  expect(await sendRaw(port, tooLarge, { until })).toMatch(/^HTTP\/1\.1 413 /)
  const accepted = await sendRaw(port, rawPost({ key, body, lines: [expecting] }), { until: /categoryId/ })
  expect(accepted).toMatch(/^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 201 /)
})

test('a connection without requests does not delay the shutdown', async ({ service }) => {
  const peer = await service.startPeer()
  await once(openSocket(peer.port, ''), 'connect')
  await peer.send('/livez')
  await peer.stop(0, 600_000) // longer than the timeout of the test
})
