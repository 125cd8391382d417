import { describe, expect } from 'vitest'
import { startScript } from '../support/assets.ts'
import { INVALID_PETS, MALFORMED_BODIES } from '../support/cases/new-pet.ts'
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
  test.for(bad)('?%s is 400', async (query, { service: owner }) => {
    await expectError(await owner.send(`/v1/pets?${query}`), 400, 'INVALID_ARGUMENT')
  })

  test('a message names every parameter that is wrong', async ({ service: owner }) => {
    const response = await owner.send('/v1/pets?limit=0&status=x')
    expect(((await response.json()) as { message: string }).message).toBe(
      'limit: must be an integer from 1 to 100; status: must be one of available, pending, sold',
    )
  })

  test('a wrong parameter does not hide behind a thousand others', async ({ service: owner }) => {
    await expectError(await owner.send(`/v1/pets?${'a&'.repeat(1_000)}limit=0`), 400, 'INVALID_ARGUMENT')
    await expectError(await owner.send(`/v1/pets?limit=1&${'a&'.repeat(1_000)}limit=2`), 400, 'INVALID_ARGUMENT')
  })

  test('unknown parameters are ignored', async ({ service: owner }) => {
    expect((await owner.send('/v1/pets?page=3&foo=bar&__proto__=x')).status).toBe(200)
  })
})

describe('createPet (§4.2)', () => {
  const rejected = [...MALFORMED_BODIES.map(([title, body]) => [title, body, /./] as const), ...INVALID_PETS]
  for (const [title, body, message] of rejected) {
    test(`${title} is 400 and stores nothing`, async ({ service: owner }) => {
      const response = await owner.post(body)
      expect(await response.json()).toEqual({
        ...errorBody(400, 'INVALID_ARGUMENT'),
        message: expect.stringMatching(message),
      })
      expect(response.status).toBe(400)
      expect(await (await owner.send('/v1/pets')).text()).toBe('[]')
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
    test(`${title} is 415`, async ({ service: owner }) => {
      const response = await owner.post('{"name":"x","categoryId":1}', headers)
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
    test(`${method} ${path} is 405 with Allow: ${allow}`, async ({ service: owner }) => {
      const response = await owner.send(path, { method })
      expect(response.headers.get('allow')).toBe(allow)
      await expectError(response, 405, 'METHOD_NOT_ALLOWED')
    })
  }

  test.for([
    ['/v1/pets', 'GET, HEAD, POST, OPTIONS'],
    ['/v1/pets/1', 'GET, HEAD, OPTIONS'],
    ['/graphql', 'GET, HEAD, POST, OPTIONS'],
  ] as const)('OPTIONS %s is 204 with Allow: %s and no body', async ([path, allow], { service: owner }) => {
    const response = await owner.send(path, { method: 'OPTIONS' })
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
  test.for(nowhere)('%s is 404 as JSON', async (path, { service: owner }) => {
    const response = await owner.send(path)
    expect(response.status).toBe(404)
    expect(response.headers.get('content-type')).toMatch(/^application\/json/)
  })

  test.for(['/livez', '/readyz', '/docs', '/openapi.json', startScript])(
    '%s takes GET and HEAD, says so, and is never a fault of ours',
    async (path, { service: owner }) => {
      const post = await owner.send(path, { method: 'POST' })
      expect(post.headers.get('allow')).toBe('GET, HEAD, OPTIONS')
      await expectError(post, 405, 'METHOD_NOT_ALLOWED')
      expect((await owner.send(path, { method: 'OPTIONS' })).status).toBe(204)
      for (const headers of [{ Range: 'bytes=99999999-' }, { 'If-Match': '"x"' }]) {
        expect((await owner.send(path, { headers })).status).toBe(200)
      }
    },
  )

  test('no Access-Control header, whatever the Origin', async ({ service: owner }) => {
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
        const response = await owner.send(path, { method, headers: { ...preflight, ...more } })
        expect([...response.headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([])
      }
    }
  })

  test('every answer has a request id: the client’s when it is sane', async ({ service: owner }) => {
    const own = await owner.send('/v1/pets', { headers: { 'X-Request-Id': 'abc-123' } })
    const odd = await owner.send('/v1/nothing', { headers: { 'X-Request-Id': 'a b<c>' } })
    expect(own.headers.get('x-request-id')).toBe('abc-123')
    expect(odd.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/)
  })
})
