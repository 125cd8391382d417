import { describe, expect } from 'vitest'
import { testWithSharedService as test } from '../support/harness.ts'

// Nothing here is stored, so the tests share a store, which stays empty.

const errorBody = (status: number, code: string) => ({ status, code, message: expect.stringMatching(/\S/) })

/** The answer must be this error, as JSON, with the three members of the specification and nothing else. */
async function expectError(response: Response, status: number, code: string): Promise<void> {
  expect(await response.json()).toEqual(errorBody(status, code))
  expect(response.status).toBe(status)
  expect(response.headers.get('content-type')).toMatch(/^application\/json/)
}

describe('listPets (§4.1)', () => {
  const bad = ['limit=0', 'limit=101', 'limit=-1', 'limit=', 'limit=%20', 'limit=5%20', 'limit=%2B5', 'limit=1e1']
  bad.push('limit=0x10', 'limit=1.0', 'limit=%D9%A3', 'limit=NaN', 'limit=99999999999999999999', 'limit=5&limit=6')
  bad.push('status=', 'status=Sold', 'status=sold%20', 'status=sold&status=sold', 'status=%00')
  bad.push('cursor=', 'cursor=x', 'cursor=c29sZDox', 'cursor=YWxsOjE&cursor=YWxsOjE', 'cursor=YWxsOjE%3D')
  test.for(bad)('?%s is 400', async (query, { service }) => {
    await expectError(await service.send(`/v1/pets?${query}`), 400, 'INVALID_ARGUMENT')
  })

  test('a message names every parameter that is wrong', async ({ service }) => {
    const response = await service.send('/v1/pets?limit=0&status=x')
    expect(((await response.json()) as { message: string }).message).toBe(
      'limit: must be an integer from 1 to 100; status: must be one of available, pending, sold',
    )
  })

  test('a wrong parameter does not hide behind a thousand others', async ({ service }) => {
    await expectError(await service.send(`/v1/pets?${'a&'.repeat(1_000)}limit=0`), 400, 'INVALID_ARGUMENT')
    await expectError(await service.send(`/v1/pets?limit=1&${'a&'.repeat(1_000)}limit=2`), 400, 'INVALID_ARGUMENT')
  })

  test('unknown parameters are ignored', async ({ service }) => {
    expect((await service.send('/v1/pets?page=3&foo=bar&__proto__=x')).status).toBe(200)
  })
})

describe('createPet (§4.2)', () => {
  const refused: [string, string | Uint8Array, RegExp][] = [
    ['an empty body', '', /empty/],
    ['no JSON', '{', /JSON/],
    ['trailing garbage', '{"name":"x","categoryId":1} x', /JSON/],
    ['a comment', '{"name":"x",/**/"categoryId":1}', /JSON/],
    ['NaN', '{"name":"x","categoryId":NaN}', /JSON/],
    ['invalid UTF-8', Buffer.from('{"name":"\xff","categoryId":1}', 'latin1'), /UTF-8/],
    ['nesting 30,000 deep', '['.repeat(30_000), /JSON/],
    ['nesting 30,000 deep with a long number', `${'['.repeat(30_000)}12345678901234567890${']'.repeat(30_000)}`, /./],
    ['null', 'null', /object/],
    ['an array', '[]', /object/],
    ['a string', '"x"', /object/],
    ['a number', '12345678901234567890', /object/],
    ['no name', '{"categoryId":1}', /^name: /],
    ['no categoryId', '{"name":"x"}', /^categoryId: /],
    ['neither', '{}', /^name: .*; categoryId: /],
    ['name null', '{"name":null,"categoryId":1}', /^name: /],
    ['name a number', '{"name":12345678901234567890,"categoryId":1}', /^name: /],
    ['name an array', '{"name":["x"],"categoryId":1}', /^name: /],
    ['name with U+0000', '{"name":"a\\u0000b","categoryId":1}', /^name: /],
    ['name with a lone surrogate', '{"name":"\\ud800","categoryId":1}', /^name: /],
    ['categoryId null', '{"name":"x","categoryId":null}', /^categoryId: /],
    ['categoryId a string', '{"name":"x","categoryId":"1"}', /^categoryId: /],
    ['categoryId with a fraction', '{"name":"x","categoryId":1.5}', /^categoryId: /],
    [
      'categoryId with a fraction that a double loses',
      '{"name":"x","categoryId":4503599627370496.25}',
      /^categoryId: /,
    ],
    ['categoryId 1e400', '{"name":"x","categoryId":1e400}', /^categoryId: /],
    ['categoryId 1e-400, which a double rounds to 0', '{"name":"x","categoryId":1e-400}', /^categoryId: /],
    [
      'categoryId 1e19, in our words',
      '{"name":"x","categoryId":1e19}',
      /^categoryId: must be an integer from -9223372036854775808/,
    ],
    ['categoryId true', '{"name":"x","categoryId":true}', /^categoryId: /],
    ['categoryId an object', '{"name":"x","categoryId":{}}', /^categoryId: /],
    ['status null', '{"name":"x","categoryId":1,"status":null}', /^status: /],
    ['status an array', '{"name":"x","categoryId":1,"status":["sold"]}', /^status: /],
    ['members only in a prototype', '{"__proto__":{"name":"x","categoryId":12345678901234567890}}', /^name: /],
  ]
  for (const [title, body, message] of refused) {
    test(`${title} is 400 and stores nothing`, async ({ service }) => {
      const response = await service.post(body)
      expect(await response.json()).toEqual({
        ...errorBody(400, 'INVALID_ARGUMENT'),
        message: expect.stringMatching(message),
      })
      expect(response.status).toBe(400)
      expect(await (await service.send('/v1/pets')).text()).toBe('[]')
    })
  }

  const types: [string, Record<string, string>][] = [
    ['text/plain', { 'Content-Type': 'text/plain' }],
    ['a form', { 'Content-Type': 'application/x-www-form-urlencoded' }],
    ['none', { 'Content-Type': '' }],
    ['another charset', { 'Content-Type': 'application/json; charset=iso-8859-1' }],
    ['gzip', { 'Content-Encoding': 'gzip' }],
    ['an unknown encoding', { 'Content-Encoding': 'x' }],
  ]
  for (const [title, headers] of types) {
    test(`${title} is 415`, async ({ service }) => {
      const response = await service.post('{"name":"x","categoryId":1}', headers)
      // RFC 9110 §12.5.3: for this reason and for no other.
      expect(response.headers.get('accept-encoding')).toBe('Content-Encoding' in headers ? 'identity' : null)
      await expectError(response, 415, 'UNSUPPORTED_MEDIA_TYPE')
    })
  }
})

describe('addresses and methods', () => {
  const methods: [string, string, string][] = ['PUT', 'PATCH', 'DELETE', 'PROPFIND', 'LOCK', 'QUERY'].flatMap(
    (method) => [
      [method, '/v1/pets', 'GET, HEAD, POST, OPTIONS'],
      [method, '/v1/pets/1', 'GET, HEAD, OPTIONS'],
    ],
  )
  methods.push(['POST', '/v1/pets/1', 'GET, HEAD, OPTIONS'])
  for (const [method, path, allow] of methods) {
    test(`${method} ${path} is 405 with Allow: ${allow}`, async ({ service }) => {
      const response = await service.send(path, { method })
      expect(response.headers.get('allow')).toBe(allow)
      await expectError(response, 405, 'METHOD_NOT_ALLOWED')
    })
  }

  test.for([
    ['/v1/pets', 'GET, HEAD, POST, OPTIONS'],
    ['/v1/pets/1', 'GET, HEAD, OPTIONS'],
    ['/graphql', 'GET, HEAD, POST, OPTIONS'],
  ] as const)('OPTIONS %s is 204 with Allow: %s and no body', async ([path, allow], { service }) => {
    const response = await service.send(path, { method: 'OPTIONS' })
    expect([response.status, await response.text()]).toEqual([204, ''])
    expect(response.headers.get('allow')).toBe(allow)
  })

  const nowhere = [
    '/v1',
    '/v1/',
    '/v1/pets/',
    '/v1//pets',
    '/v1/Pets',
    '/v1/pets/1/',
    '/v1/pets/1/x',
    '/v1/store/orders',
  ]
  nowhere.push('/', '/V1/pets', '/x', '/favicon.ico', '//v1/pets')
  test.for(nowhere)('%s is 404 as JSON', async (path, { service }) => {
    const response = await service.send(path)
    expect(response.status).toBe(404)
    expect(response.headers.get('content-type')).toMatch(/^application\/json/)
  })

  test.for(['/livez', '/readyz', '/docs', '/openapi.json', '/docs/swagger-ui.css'])(
    '%s takes GET and HEAD, says so, and is never a fault of ours',
    async (path, { service }) => {
      const post = await service.send(path, { method: 'POST' })
      expect(post.headers.get('allow')).toBe('GET, HEAD, OPTIONS')
      await expectError(post, 405, 'METHOD_NOT_ALLOWED')
      expect((await service.send(path, { method: 'OPTIONS' })).status).toBe(204)
      for (const headers of [{ Range: 'bytes=99999999-' }, { 'If-Match': '"x"' }]) {
        expect((await service.send(path, { headers })).status).toBe(200)
      }
    },
  )

  test('no Access-Control header, whatever the Origin', async ({ service }) => {
    const preflight = { Origin: 'https://evil.example', 'Access-Control-Request-Method': 'POST' }
    for (const path of [
      '/v1/pets',
      '/v1/pets/1',
      '/v1/x',
      '/graphql',
      '/graphql?query={__typename}',
      '/openapi.json',
    ]) {
      for (const [method, more] of [['GET'], ['OPTIONS'], ['POST'], ['GET', { Authorization: 'Bearer x' }]] as const) {
        const response = await service.send(path, { method, headers: { ...preflight, ...more } })
        expect([...response.headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([])
      }
    }
  })

  test('every answer has a request id: the client’s when it is sane', async ({ service }) => {
    const own = await service.send('/v1/pets', { headers: { 'X-Request-Id': 'abc-123' } })
    const odd = await service.send('/v1/nothing', { headers: { 'X-Request-Id': 'a b<c>' } })
    expect(own.headers.get('x-request-id')).toBe('abc-123')
    expect(odd.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/)
  })
})
