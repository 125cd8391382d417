import { connect } from 'node:net'
import { describe, expect } from 'vitest'
import { type TestService, testWithSharedService, testWithService as test } from '../support/harness.ts'
import { parseResponse, sendRaw } from '../support/raw-http.ts'

/** Matches when the complete Error body has been received. */
const until = /"status":\d+\}/

describe('raw HTTP requests', () => {
  const cases: { title: string; bytes: string; status: number; code: string }[] = [
    { title: 'no Host', bytes: 'GET /v1/pets HTTP/1.1\r\n\r\n', status: 400, code: 'INVALID_ARGUMENT' },
    {
      title: 'two Hosts',
      bytes: 'GET /v1/pets HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n',
      status: 400,
      code: 'INVALID_ARGUMENT',
    },
    {
      title: 'a Host with a space',
      bytes: 'GET /v1/pets HTTP/1.1\r\nHost: a b\r\n\r\n',
      status: 400,
      code: 'INVALID_ARGUMENT',
    },
    {
      title: 'a Host with a path',
      bytes: 'POST /v1/pets HTTP/1.1\r\nHost: a/b\r\nContent-Length: 0\r\n\r\n',
      status: 400,
      code: 'INVALID_ARGUMENT',
    },
    { title: 'an empty Host', bytes: 'GET /v1/pets HTTP/1.1\r\nHost:\r\n\r\n', status: 400, code: 'INVALID_ARGUMENT' },
    {
      title: 'an absolute target',
      bytes: 'GET http://x/v1/pets HTTP/1.1\r\nHost: x\r\n\r\n',
      status: 400,
      code: 'INVALID_ARGUMENT',
    },
    { title: 'OPTIONS *', bytes: 'OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n', status: 400, code: 'INVALID_ARGUMENT' },
    { title: 'text that is not HTTP', bytes: 'hello\r\n\r\n', status: 400, code: 'INVALID_ARGUMENT' },
    {
      title: 'Content-Length and Transfer-Encoding',
      bytes: 'POST /v1/pets HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n',
      status: 400,
      code: 'INVALID_ARGUMENT',
    },
    {
      title: 'two different Content-Lengths',
      bytes: 'POST /v1/pets HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\n',
      status: 400,
      code: 'INVALID_ARGUMENT',
    },
    {
      title: 'a NUL in a header',
      bytes: 'GET /v1/pets HTTP/1.1\r\nHost: x\r\nX: \0\r\n\r\n',
      status: 400,
      code: 'INVALID_ARGUMENT',
    },
    {
      title: '17 KB of headers',
      bytes: `GET /v1/pets HTTP/1.1\r\nHost: x\r\nX: ${'x'.repeat(17_000)}\r\n\r\n`,
      status: 431,
      code: 'HEADERS_TOO_LARGE',
    },
    { title: 'CONNECT', bytes: 'CONNECT x:80 HTTP/1.1\r\nHost: x:80\r\n\r\n', status: 405, code: 'METHOD_NOT_ALLOWED' },
    {
      title: 'Transfer-Encoding in HTTP/1.0',
      bytes: 'POST /v1/pets HTTP/1.0\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
      status: 400,
      code: 'INVALID_ARGUMENT',
    },
    {
      title: 'an unknown expectation',
      bytes: 'GET /v1/pets HTTP/1.1\r\nHost: x\r\nExpect: foo\r\n\r\n',
      status: 417,
      code: 'EXPECTATION_FAILED',
    },
  ]
  for (const { title, bytes, status, code } of cases) {
    testWithSharedService(`${title} is ${status} as JSON, and the connection is closed`, async ({ service }) => {
      const response = await sendRaw(service.port, bytes)
      expect(parseResponse(response)).toMatchObject({
        status,
        body: { status, code, message: expect.stringMatching(/\S/) },
      })
      expect((await service.send('/v1/pets')).status).toBe(200)
    })
  }

  testWithSharedService('two Authorization headers are 401, even if both are valid', async ({ service }) => {
    const auth = `Authorization: Bearer ${service.key}\r\n`
    for (const lines of [`${auth}Authorization: Bearer x\r\n`, auth + auth]) {
      const response = await sendRaw(
        service.port,
        `GET /v1/pets HTTP/1.1\r\nHost: x\r\n${lines}Connection: close\r\n\r\n`,
      )
      expect(parseResponse(response)).toMatchObject({ status: 401, body: { code: 'UNAUTHENTICATED' } })
    }
  })

  testWithSharedService('a chunked body over the limit is 413 before it is complete', async ({ service }) => {
    const head = `POST /v1/pets HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${service.key}\r\n`
    const type = 'Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n'
    const chunk = `10000\r\n${' '.repeat(65_536)}\r\n`
    const response = await sendRaw(service.port, head + type + chunk + chunk, { until })
    expect(parseResponse(response)).toMatchObject({ status: 413, body: { code: 'PAYLOAD_TOO_LARGE' } })
  })

  testWithSharedService('a body in thousands of chunks is 400', async ({ service }) => {
    const head = `POST /v1/pets HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${service.key}\r\n`
    const type = 'Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n'
    const response = await sendRaw(service.port, `${head}${type}${'1\r\n \r\n'.repeat(5_000)}`, { until })
    expect(parseResponse(response)).toMatchObject({ status: 400, body: { message: 'The body has too many chunks.' } })
  })

  testWithSharedService('a Content-Length over the limit is 413 before the body is sent', async ({ service }) => {
    const head = `POST /v1/pets HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${service.key}\r\n`
    const type = 'Content-Type: application/json\r\nContent-Length: 9999999\r\n\r\n'
    const response = await sendRaw(service.port, head + type, { until })
    expect(parseResponse(response)).toMatchObject({ status: 413, body: { code: 'PAYLOAD_TOO_LARGE' } })
  })

  test('a client that resets the connection within its body creates no animal', async ({ service }) => {
    const head = `POST /v1/pets HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${service.key}\r\n`
    const socket = connect(service.port, '127.0.0.1')
    socket.write(`${head}Content-Type: application/json\r\nContent-Length: 99\r\n\r\n{"name":"x",`)
    await new Promise((resolve) => setTimeout(resolve, 50))
    socket.resetAndDestroy()
    expect(await (await service.send('/v1/pets')).text()).toBe('[]')
  })

  const head = (service: TestService, extraHeaders: string) =>
    `POST /v1/pets HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${service.key}\r\nContent-Type: application/json\r\n${extraHeaders}\r\n`
  const post = (service: TestService) => `${head(service, 'Content-Length: 27\r\n')}{"name":"x","categoryId":1}`

  test.for([
    ['garbage', 'GARBAGE\r\n\r\n', ['201']],
    ['an unknown expectation', 'GET /v1/pets HTTP/1.1\r\nHost: x\r\nExpect: foo\r\n\r\n', ['201', '417']],
    ['CONNECT', 'CONNECT x:80 HTTP/1.1\r\nHost: x\r\n\r\n', ['201']],
  ] as const)(
    '%s behind a valid request closes the connection after its response',
    async ([, bytes, statuses], { service }) => {
      const responses = await sendRaw(service.port, `${post(service)}${bytes}`)
      expect(responses.match(/(?<=HTTP\/1\.1 )\d+/g)).toEqual(statuses)
    },
  )

  test('an unknown expectation is rejected in the format of the API, logged and counted', async ({ service }) => {
    const lines = 'Host: x\r\nX-Request-Id: expecting\r\nExpect: foo\r\n\r\n'
    const response = parseResponse(await sendRaw(service.port, `POST /graphql HTTP/1.1\r\n${lines}`))
    expect(response.body).toMatchObject({ errors: [{ extensions: { code: 'EXPECTATION_FAILED', status: 417 } }] })
    expect(response.headers).toMatchObject({ 'x-request-id': 'expecting', connection: 'close' })
    expect(await service.log.line({ requestId: 'expecting' })).toMatchObject({ route: '/graphql', status: 417 })
    const metrics = await (await service.send('/metrics')).text()
    expect(metrics).toContain('petstore_errors_total{code="EXPECTATION_FAILED"} 1\n')
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
})
