import { once } from 'node:events'
import { expect } from 'vitest'
import { testWithSharedService as test } from '../support/harness.ts'
import { openSocket, parseResponse, rawPost, sendRaw, statusesIn } from '../support/raw-http.ts'

/** Matches when the complete Error body has been received. */
const until = /"status":\d+\}/

const body = { name: 'x', categoryId: 1 }
const chunked = 'Transfer-Encoding: chunked'
const tooLarge = 'Content-Length: 9999999'
const expecting = 'Expect: 100-continue'

test.for([
  ['in chunks over the limit', chunked, `10000\r\n${' '.repeat(65_536)}\r\n`.repeat(2), 413],
  ['in thousands of chunks', chunked, '1\r\n \r\n'.repeat(5_000), 400],
  ['whose Content-Length is over the limit', tooLarge, '', 413],
] as const)('a body %s is rejected before it is complete', async ([, line, bytes, status], { service }) => {
  const request = rawPost({ key: service.key, lines: [line] }) + bytes
  expect(await sendRaw(service.port, request, { until })).toMatch(`HTTP/1.1 ${status} `)
})

test.for([
  ['an unknown expectation', 'GET /v1/pets HTTP/1.1\r\nHost: x\r\nExpect: foo\r\n\r\n', [201, 417]],
  ['CONNECT', 'CONNECT x:80 HTTP/1.1\r\nHost: x\r\n\r\n', [201]],
] as const)('%s behind a valid request closes the connection', async ([, bytes, statuses], { service }) => {
  const request = rawPost({ key: service.key, body })
  expect(statusesIn(await sendRaw(service.port, request + bytes))).toEqual(statuses)
})

test('an unknown expectation is rejected in the format of the API, logged and counted [W2]', async ({ service }) => {
  const lines = 'Host: x\r\nX-Request-Id: expecting\r\nExpect: foo\r\n\r\n'
  const response = parseResponse(await sendRaw(service.port, `POST /graphql HTTP/1.1\r\n${lines}`))
  expect(response.body).toMatchObject({ errors: [{ extensions: { code: 'EXPECTATION_FAILED', status: 417 } }] })
  expect(response.headers).toMatchObject({ 'x-request-id': 'expecting', connection: 'close' })
  expect(await service.log.line({ requestId: 'expecting' })).toMatchObject({ route: '/graphql', status: 417 })
  expect(await service.metric('petstore_errors_total{route="/graphql",code="EXPECTATION_FAILED"}')).toBe(1)
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
  const rejected = await sendRaw(port, rawPost({ key, lines: [expecting, tooLarge] }), { until })
  expect(rejected).toMatch(/^HTTP\/1\.1 413 /)
  const noKey = rawPost({ key: 'x', lines: [expecting, 'Content-Length: 27'] })
  expect(await sendRaw(port, noKey, { until })).toMatch(/^HTTP\/1\.1 401 /)
  const accepted = await sendRaw(port, rawPost({ key, body, lines: [expecting] }), { until: /categoryId/ })
  expect(accepted).toMatch(/^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 201 /)
})

test('a connection without requests does not delay the shutdown', async ({ service }) => {
  const peer = await service.startPeer()
  await once(openSocket(peer.port, ''), 'connect')
  await peer.send('/livez')
  await peer.stop(0, 600_000) // longer than the timeout of the test
})
