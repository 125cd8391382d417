import { connect } from 'node:net'
import { describe, expect } from 'vitest'
import { type TestService, testWithSharedService, testWithService as test } from '../support/harness.ts'
import { parseResponse, sendRaw } from '../support/raw-http.ts'

/** The end of an Error body. */
const until = /"status":\d+\}/

describe('what no HTTP library sends', () => {
  const broken: [string, string, number, string][] = [
    ['no Host', 'GET /v1/pets HTTP/1.1\r\n\r\n', 400, 'INVALID_ARGUMENT'],
    ['two Hosts', 'GET /v1/pets HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n', 400, 'INVALID_ARGUMENT'],
    ['a Host with a blank', 'GET /v1/pets HTTP/1.1\r\nHost: a b\r\n\r\n', 400, 'INVALID_ARGUMENT'],
    ['a Host with a path', 'POST /v1/pets HTTP/1.1\r\nHost: a/b\r\nContent-Length: 0\r\n\r\n', 400, 'INVALID_ARGUMENT'],
    ['an empty Host', 'GET /v1/pets HTTP/1.1\r\nHost:\r\n\r\n', 400, 'INVALID_ARGUMENT'],
    ['an absolute target', 'GET http://x/v1/pets HTTP/1.1\r\nHost: x\r\n\r\n', 400, 'INVALID_ARGUMENT'],
    ['OPTIONS *', 'OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n', 400, 'INVALID_ARGUMENT'],
    ['no HTTP', 'hello\r\n\r\n', 400, 'INVALID_ARGUMENT'],
    [
      'a length and chunks',
      'POST /v1/pets HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n',
      400,
      'INVALID_ARGUMENT',
    ],
    [
      'two lengths',
      'POST /v1/pets HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\n',
      400,
      'INVALID_ARGUMENT',
    ],
    ['a NUL in a header', 'GET /v1/pets HTTP/1.1\r\nHost: x\r\nX: \0\r\n\r\n', 400, 'INVALID_ARGUMENT'],
    [
      '17 KB of headers',
      `GET /v1/pets HTTP/1.1\r\nHost: x\r\nX: ${'x'.repeat(17_000)}\r\n\r\n`,
      431,
      'HEADERS_TOO_LARGE',
    ],
    ['CONNECT', 'CONNECT x:80 HTTP/1.1\r\nHost: x:80\r\n\r\n', 405, 'METHOD_NOT_ALLOWED'],
    [
      'Transfer-Encoding in HTTP/1.0',
      'POST /v1/pets HTTP/1.0\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
      400,
      'INVALID_ARGUMENT',
    ],
    ['another Expect', 'GET /v1/pets HTTP/1.1\r\nHost: x\r\nExpect: foo\r\n\r\n', 417, 'EXPECTATION_FAILED'],
  ]
  for (const [title, bytes, status, code] of broken) {
    testWithSharedService(`${title} is ${status} as JSON, then closed`, async ({ service }) => {
      const answer = await sendRaw(service.port, bytes)
      expect(parseResponse(answer)).toMatchObject({
        status,
        body: { status, code, message: expect.stringMatching(/\S/) },
      })
      expect((await service.send('/v1/pets')).status).toBe(200)
    })
  }

  testWithSharedService('two Authorization headers are 401, even when the first is good', async ({ service }) => {
    const auth = `Authorization: Bearer ${service.key}\r\n`
    for (const lines of [`${auth}Authorization: Bearer x\r\n`, auth + auth]) {
      const answer = await sendRaw(
        service.port,
        `GET /v1/pets HTTP/1.1\r\nHost: x\r\n${lines}Connection: close\r\n\r\n`,
      )
      expect(parseResponse(answer)).toMatchObject({ status: 401, body: { code: 'UNAUTHENTICATED' } })
    }
  })

  testWithSharedService(
    'a body too large without Content-Length is 413 before it is sent whole',
    async ({ service }) => {
      const head = `POST /v1/pets HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${service.key}\r\n`
      const type = 'Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n'
      const chunk = `10000\r\n${' '.repeat(65_536)}\r\n`
      const answer = await sendRaw(service.port, head + type + chunk + chunk, { until })
      expect(parseResponse(answer)).toMatchObject({ status: 413, body: { code: 'PAYLOAD_TOO_LARGE' } })
    },
  )

  testWithSharedService('a declared length over the limit is 413 before the body is sent', async ({ service }) => {
    const head = `POST /v1/pets HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${service.key}\r\n`
    const type = 'Content-Type: application/json\r\nContent-Length: 9999999\r\n\r\n'
    const answer = await sendRaw(service.port, head + type, { until })
    expect(parseResponse(answer)).toMatchObject({ status: 413, body: { code: 'PAYLOAD_TOO_LARGE' } })
  })

  test('a client that goes away in the middle of its body leaves no animal and no crash', async ({ service }) => {
    const head = `POST /v1/pets HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${service.key}\r\n`
    const socket = connect(service.port, '127.0.0.1')
    socket.write(`${head}Content-Type: application/json\r\nContent-Length: 99\r\n\r\n{"name":"x",`)
    await new Promise((resolve) => setTimeout(resolve, 50))
    socket.resetAndDestroy()
    expect(await (await service.send('/v1/pets')).text()).toBe('[]')
  })

  const head = (service: TestService, more: string) =>
    `POST /v1/pets HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${service.key}\r\nContent-Type: application/json\r\n${more}\r\n`
  const post = (service: TestService) => `${head(service, 'Content-Length: 27\r\n')}{"name":"x","categoryId":1}`

  test.for([
    ['garbage', 'GARBAGE\r\n\r\n', '400'],
    ['an expectation that is none', 'GET /v1/pets HTTP/1.1\r\nHost: x\r\nExpect: foo\r\n\r\n', '417'],
    ['CONNECT', 'CONNECT x:80 HTTP/1.1\r\nHost: x\r\n\r\n', '405'],
  ] as const)('%s behind a good request is answered behind it', async ([, bytes, status], { service }) => {
    const answers = await sendRaw(service.port, `${post(service)}${bytes}`)
    expect(answers.match(/(?<=HTTP\/1\.1 )\d+/g)).toEqual(['201', status])
  })

  test('an expectation that is none is refused as the face does it, and told in log and metrics', async ({
    service,
  }) => {
    const lines = 'Host: x\r\nX-Request-Id: expecting\r\nExpect: foo\r\n\r\n'
    const answer = parseResponse(await sendRaw(service.port, `POST /graphql HTTP/1.1\r\n${lines}`))
    expect(answer.body).toMatchObject({ errors: [{ extensions: { code: 'EXPECTATION_FAILED', status: 417 } }] })
    expect(answer.headers).toMatchObject({ 'x-request-id': 'expecting', connection: 'close' })
    expect(await service.log.line({ requestId: 'expecting' })).toMatchObject({ route: '/graphql', status: 417 })
    const metrics = await (await service.send('/metrics')).text()
    expect(metrics).toContain('petstore_errors_total{code="EXPECTATION_FAILED"} 1\n')
  })

  test('a client of HTTP/1.0 is never sent 100 (RFC 9110 §10.1.1)', async ({ service }) => {
    const request = post(service).replace('HTTP/1.1\r\n', 'HTTP/1.0\r\nExpect: 100-continue\r\n')
    expect(parseResponse(await sendRaw(service.port, request))).toMatchObject({ status: 201, body: { name: 'x' } })
  })

  testWithSharedService(
    'a body that is refused unread gets one answer, and 100 only when it is wanted',
    async ({ service }) => {
      const expecting = 'Expect: 100-continue\r\n'
      const tooLarge = await sendRaw(service.port, head(service, `${expecting}Content-Length: 9999999\r\n`), { until })
      expect(tooLarge).toMatch(/^HTTP\/1\.1 413 /)
      const noKey = head(service, `${expecting}Content-Length: 27\r\n`).replace(/Bearer \w+/, 'Bearer x')
      expect(await sendRaw(service.port, noKey, { until })).toMatch(/^HTTP\/1\.1 401 /)
      const good = await sendRaw(service.port, post(service).replace('Host: x\r\n', `Host: x\r\n${expecting}`), {
        until: /categoryId/,
      })
      expect(good).toMatch(/^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 201 /)
    },
  )

  test('a silent connection does not hold up the end', async ({ service }) => {
    const peer = await service.startPeer()
    const silent = connect(peer.port, '127.0.0.1')
    await new Promise((resolve) => silent.once('connect', resolve))
    await peer.send('/livez')
    await peer.stop(0, 600_000) // or the test times out
    silent.destroy()
  })
})
