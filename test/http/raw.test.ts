import { connect } from 'node:net'
import { expect } from 'vitest'
import { type TestService, testWithSharedService, testWithService as test } from '../support/harness.ts'
import { parseResponse, sendRaw, statusesIn } from '../support/raw-http.ts'

/** Matches when the complete Error body has been received. */
const until = /"status":\d+\}/

const head = (service: TestService, extraHeaders: string) =>
  `POST /v1/pets HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${service.key}\r\nContent-Type: application/json\r\n${extraHeaders}\r\n`
const post = (service: TestService) => `${head(service, 'Content-Length: 27\r\n')}{"name":"x","categoryId":1}`

const chunked = 'Transfer-Encoding: chunked\r\n'
testWithSharedService.for([
  {
    body: 'in chunks over the limit',
    lines: chunked,
    bytes: `10000\r\n${' '.repeat(65_536)}\r\n`.repeat(2),
    status: 413,
  },
  { body: 'in thousands of chunks', lines: chunked, bytes: '1\r\n \r\n'.repeat(5_000), status: 400 },
  { body: 'whose Content-Length is over the limit', lines: 'Content-Length: 9999999\r\n', bytes: '', status: 413 },
])('a body $body is $status before it is complete', async ({ lines, bytes, status }, { service }) => {
  expect(await sendRaw(service.port, head(service, lines) + bytes, { until })).toMatch(`HTTP/1.1 ${status} `)
})

test.for([
  ['an unknown expectation', 'GET /v1/pets HTTP/1.1\r\nHost: x\r\nExpect: foo\r\n\r\n', [201, 417]],
  ['CONNECT', 'CONNECT x:80 HTTP/1.1\r\nHost: x\r\n\r\n', [201]],
] as const)(
  '%s behind a valid request closes the connection after its response',
  async ([, bytes, statuses], { service }) => {
    expect(statusesIn(await sendRaw(service.port, `${post(service)}${bytes}`))).toEqual(statuses)
  },
)

test('an unknown expectation is rejected in the format of the API, logged and counted', async ({ service }) => {
  const lines = 'Host: x\r\nX-Request-Id: expecting\r\nExpect: foo\r\n\r\n'
  const response = parseResponse(await sendRaw(service.port, `POST /graphql HTTP/1.1\r\n${lines}`))
  expect(response.body).toMatchObject({ errors: [{ extensions: { code: 'EXPECTATION_FAILED', status: 417 } }] })
  expect(response.headers).toMatchObject({ 'x-request-id': 'expecting', connection: 'close' })
  expect(await service.log.line({ requestId: 'expecting' })).toMatchObject({ route: '/graphql', status: 417 })
  const metrics = await (await service.send('/metrics')).text()
  expect(metrics).toContain('petstore_errors_total{route="/graphql",code="EXPECTATION_FAILED"} 1\n')
})

test('100 Continue is never sent to an HTTP/1.0 client (RFC 9110 §10.1.1)', async ({ service }) => {
  const request = post(service).replace('HTTP/1.1\r\n', 'HTTP/1.0\r\nExpect: 100-continue\r\n')
  expect(parseResponse(await sendRaw(service.port, request))).toMatchObject({ status: 201, body: { name: 'x' } })
})

testWithSharedService('100 Continue is sent only for a body that the service reads', async ({ service }) => {
  const expecting = 'Expect: 100-continue\r\n'
  const tooLarge = await sendRaw(service.port, head(service, `${expecting}Content-Length: 9999999\r\n`), { until })
  expect(tooLarge).toMatch(/^HTTP\/1\.1 413 /)
  const noKey = head(service, `${expecting}Content-Length: 27\r\n`).replace(/Bearer \w+/, 'Bearer x')
  expect(await sendRaw(service.port, noKey, { until })).toMatch(/^HTTP\/1\.1 401 /)
  const accepted = await sendRaw(service.port, post(service).replace('Host: x\r\n', `Host: x\r\n${expecting}`), {
    until: /categoryId/,
  })
  expect(accepted).toMatch(/^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 201 /)
})

test('a connection without requests does not delay the shutdown', async ({ service }) => {
  const peer = await service.startPeer()
  const silent = connect(peer.port, '127.0.0.1')
  await new Promise((resolve) => silent.once('connect', resolve))
  await peer.send('/livez')
  await peer.stop(0, 600_000) // longer than the timeout of the test
  silent.destroy()
})
