import { describe, expect } from 'vitest'
import { docsScript } from '../support/assets.ts'
import { INVALID_PETS, MALFORMED_BODIES } from '../support/cases/new-pet.ts'
import { testWithSharedService as test } from '../support/harness.ts'

// Nothing here is stored, so the tests share a database, which stays empty.

const errorBody = (status: number, code: string) => ({ status, code, message: expect.stringMatching(/\S/) })

/** Expects this error as JSON, with the three members of the specification and no others. */
async function expectError(response: Response, status: number, code: string): Promise<void> {
  expect(await response.json()).toEqual(errorBody(status, code))
  expect(response.status).toBe(status)
  expect(response.headers.get('content-type')).toMatch(/^application\/json/)
}

describe('listPets (§4.1)', () => {
  const invalidQueries = [
    'limit=0',
    'limit=101',
    'limit=-1',
    'limit=',
    'limit=%20',
    'limit=5%20',
    'limit=%2B5',
    'limit=1e1',
  ]
  invalidQueries.push(
    'limit=0x10',
    'limit=1.0',
    'limit=%D9%A3',
    'limit=NaN',
    'limit=99999999999999999999',
    'limit=5&limit=6',
  )
  invalidQueries.push('status=', 'status=Sold', 'status=sold%20', 'status=sold&status=sold', 'status=%00')
  invalidQueries.push('cursor=', 'cursor=x', 'cursor=c29sZDox', 'cursor=YWxsOjE&cursor=YWxsOjE', 'cursor=YWxsOjE%3D')
  test.for(invalidQueries)('?%s is 400', async (query, { service }) => {
    await expectError(await service.send(`/v1/pets?${query}`), 400, 'INVALID_ARGUMENT')
  })

  test('one message names every invalid parameter', async ({ service }) => {
    const response = await service.send('/v1/pets?limit=0&status=x')
    expect(((await response.json()) as { message: string }).message).toBe(
      'limit: must be an integer from 1 to 100; status: must be one of available, pending, sold',
    )
  })

  test('an invalid parameter after a thousand others is rejected', async ({ service }) => {
    await expectError(await service.send(`/v1/pets?${'a&'.repeat(1_000)}limit=0`), 400, 'INVALID_ARGUMENT')
    await expectError(await service.send(`/v1/pets?limit=1&${'a&'.repeat(1_000)}limit=2`), 400, 'INVALID_ARGUMENT')
  })

  test('unknown parameters are ignored', async ({ service }) => {
    expect((await service.send('/v1/pets?page=3&foo=bar&__proto__=x')).status).toBe(200)
  })
})

describe('createPet (§4.2)', () => {
  const rejected = [...MALFORMED_BODIES.map((row) => ({ ...row, message: /./ })), ...INVALID_PETS]
  for (const { title, body, message } of rejected) {
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

  const unsupported = [
    { title: 'Content-Type: text/plain', headers: { 'Content-Type': 'text/plain' } },
    { title: 'Content-Type of a form', headers: { 'Content-Type': 'application/x-www-form-urlencoded' } },
    { title: 'no Content-Type', headers: { 'Content-Type': '' } },
    { title: 'a charset other than UTF-8', headers: { 'Content-Type': 'application/json; charset=iso-8859-1' } },
    { title: 'Content-Encoding: gzip', headers: { 'Content-Encoding': 'gzip' } },
    { title: 'an unknown Content-Encoding', headers: { 'Content-Encoding': 'x' } },
  ]
  for (const { title, headers } of unsupported) {
    test(`${title} is 415`, async ({ service }) => {
      const response = await service.post('{"name":"x","categoryId":1}', headers)
      // RFC 9110 §12.5.3: only a 415 caused by the Content-Encoding has this header.
      expect(response.headers.get('accept-encoding')).toBe('Content-Encoding' in headers ? 'identity' : null)
      await expectError(response, 415, 'UNSUPPORTED_MEDIA_TYPE')
    })
  }
})

describe('paths and methods', () => {
  const rejectedMethods = ['PUT', 'PATCH', 'DELETE', 'PROPFIND', 'LOCK', 'QUERY'].flatMap((method) => [
    { method, path: '/v1/pets', allow: 'GET, HEAD, POST, OPTIONS' },
    { method, path: '/v1/pets/1', allow: 'GET, HEAD, OPTIONS' },
  ])
  rejectedMethods.push({ method: 'POST', path: '/v1/pets/1', allow: 'GET, HEAD, OPTIONS' })
  for (const { method, path, allow } of rejectedMethods) {
    test(`${method} ${path} is 405 with Allow: ${allow}`, async ({ service }) => {
      const response = await service.send(path, { method })
      expect(response.headers.get('allow')).toBe(allow)
      await expectError(response, 405, 'METHOD_NOT_ALLOWED')
    })
  }

  test.for([
    { path: '/v1/pets', allow: 'GET, HEAD, POST, OPTIONS' },
    { path: '/v1/pets/1', allow: 'GET, HEAD, OPTIONS' },
    { path: '/graphql', allow: 'GET, HEAD, POST, OPTIONS' },
  ])('OPTIONS $path is 204 with Allow: $allow and no body', async ({ path, allow }, { service }) => {
    const response = await service.send(path, { method: 'OPTIONS' })
    expect([response.status, await response.text()]).toEqual([204, ''])
    expect(response.headers.get('allow')).toBe(allow)
  })

  const unknownPaths = ['/v1', '/v1/', '/v1//pets', '/v1/Pets', '/v1/pets/1/', '/v1/pets/1/x', '/v1/store/orders']
  unknownPaths.push('/', '/V1/pets', '/x', '/favicon.ico', '//v1/pets')
  test.for(unknownPaths)('%s is 404 as JSON', async (path, { service }) => {
    const response = await service.send(path)
    expect(response.status).toBe(404)
    expect(response.headers.get('content-type')).toMatch(/^application\/json/)
  })

  test.for(['/livez', '/readyz', '/docs', '/openapi.json', docsScript])(
    '%s allows GET, HEAD and OPTIONS only, and ignores Range and If-Match',
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

  test('no response has an Access-Control header, whatever the Origin', async ({ service }) => {
    const preflight = { Origin: 'https://evil.example', 'Access-Control-Request-Method': 'POST' }
    for (const path of [
      '/v1/pets',
      '/v1/pets/1',
      '/v1/x',
      '/graphql',
      '/graphql?query={__typename}',
      '/openapi.json',
    ]) {
      for (const [method, extraHeaders] of [
        ['GET'],
        ['OPTIONS'],
        ['POST'],
        ['GET', { Authorization: 'Bearer x' }],
      ] as const) {
        const response = await service.send(path, { method, headers: { ...preflight, ...extraHeaders } })
        expect([...response.headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([])
      }
    }
  })

  test('every response has a request id, the client’s if it is well-formed', async ({ service }) => {
    const wellFormed = await service.send('/v1/pets', { headers: { 'X-Request-Id': 'abc-123' } })
    const malformed = await service.send('/v1/nothing', { headers: { 'X-Request-Id': 'a b<c>' } })
    expect(wellFormed.headers.get('x-request-id')).toBe('abc-123')
    expect(malformed.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/)
  })
})
