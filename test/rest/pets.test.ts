import { describe, expect } from 'vitest'
import { type Running, test } from '../harness.ts'

const errorBody = (status: number, code: string) => ({ status, code, message: expect.stringMatching(/\S/) })

/** The answer must be this error, as JSON, with the three members of the specification and nothing else. */
async function expectError(response: Response, status: number, code: string): Promise<void> {
  expect(await response.json()).toEqual(errorBody(status, code))
  expect(response.status).toBe(status)
  expect(response.headers.get('content-type')).toMatch(/^application\/json/)
}

async function ids(response: Response): Promise<number[]> {
  return ((await response.json()) as { id: number }[]).map(({ id }) => id)
}

async function createSome(running: Running, count: number, status?: string): Promise<void> {
  for (let n = 0; n < count; n++) await running.post({ name: `animal ${n}`, categoryId: n, status })
}

describe('listPets (§4.1)', () => {
  test('an empty store is an empty array', async ({ running }) => {
    const response = await running.send('/v1/pets')
    expect([response.status, await response.text()]).toEqual([200, '[]'])
  })

  test('20 animals by default, newest first', async ({ running }) => {
    await createSome(running, 21)
    const page = await ids(await running.send('/v1/pets'))
    expect(page).toEqual(Array.from({ length: 20 }, (_, n) => 21 - n))
  })

  test('an animal without status has no status member', async ({ running }) => {
    await running.post({ name: 'x', categoryId: 5 })
    expect(await (await running.send('/v1/pets')).text()).toBe('[{"id":1,"name":"x","categoryId":5}]')
  })

  test('following next visits every animal of the filter once, then ends', async ({ running }) => {
    await createSome(running, 5, 'sold')
    await createSome(running, 3, 'available')
    const seen: number[] = []
    let address: string | undefined = '/v1/pets?limit=2&status=sold'
    while (address) {
      const response: Response = await running.send(address)
      expect(response.headers.get('link')).toContain('</v1/pets?limit=2&status=sold>; rel="first"')
      address = /<([^>]*)>; rel="next"/.exec(response.headers.get('link') ?? '')?.[1]
      seen.push(...(await ids(response)))
    }
    expect(seen).toEqual([5, 4, 3, 2, 1])
  })

  const bad = ['limit=0', 'limit=101', 'limit=-1', 'limit=', 'limit=%20', 'limit=5%20', 'limit=%2B5', 'limit=1e1']
  bad.push('limit=0x10', 'limit=1.0', 'limit=%D9%A3', 'limit=NaN', 'limit=99999999999999999999', 'limit=5&limit=6')
  bad.push('status=', 'status=Sold', 'status=sold%20', 'status=sold&status=sold', 'status=%00')
  bad.push('cursor=', 'cursor=x', 'cursor=c29sZDox', 'cursor=YWxsOjE&cursor=YWxsOjE', 'cursor=YWxsOjE%3D')
  test.for(bad)('?%s is 400', async (query, { running }) => {
    await expectError(await running.send(`/v1/pets?${query}`), 400, 'INVALID_ARGUMENT')
  })

  test('a message names every parameter that is wrong', async ({ running }) => {
    const response = await running.send('/v1/pets?limit=0&status=x')
    expect(((await response.json()) as { message: string }).message).toBe(
      'limit: must be an integer from 1 to 100; status: must be one of available, pending, sold',
    )
  })

  test('a cursor is good only for the filter that it came from', async ({ running }) => {
    await createSome(running, 2, 'sold')
    const link = (await running.send('/v1/pets?limit=1&status=sold')).headers.get('link') ?? ''
    const cursor = /cursor=([^>&]+)/.exec(link)?.[1]
    const response = await running.send(`/v1/pets?cursor=${cursor}`)
    expect(((await response.json()) as { message: string }).message).toContain('another status filter')
  })

  test('a wrong parameter does not hide behind a thousand others', async ({ running }) => {
    await expectError(await running.send(`/v1/pets?${'a&'.repeat(1_000)}limit=0`), 400, 'INVALID_ARGUMENT')
    await expectError(await running.send(`/v1/pets?limit=1&${'a&'.repeat(1_000)}limit=2`), 400, 'INVALID_ARGUMENT')
  })

  test('unknown parameters are ignored', async ({ running }) => {
    expect((await running.send('/v1/pets?page=3&foo=bar&__proto__=x')).status).toBe(200)
  })
})

describe('createPet (§4.2)', () => {
  test('201 with the animal, its new id and its address', async ({ running }) => {
    const response = await running.post({ name: 'Rex', categoryId: 3, status: 'available' })
    expect(response.status).toBe(201)
    expect(await response.text()).toBe('{"id":1,"name":"Rex","categoryId":3,"status":"available"}')
    expect(response.headers.get('location')).toBe('/v1/pets/1')
    expect((await running.send('/v1/pets/1')).status).toBe(200)
  })

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
    test(`${title} is 400 and stores nothing`, async ({ running }) => {
      const response = await running.post(body)
      expect(await response.json()).toEqual({
        ...errorBody(400, 'INVALID_ARGUMENT'),
        message: expect.stringMatching(message),
      })
      expect(response.status).toBe(400)
      expect(await (await running.send('/v1/pets')).text()).toBe('[]')
    })
  }

  test('unknown members and id are ignored, and pollute nothing', async ({ running }) => {
    const body = '{"id":77,"name":"x","categoryId":1,"__proto__":{"a":1},"constructor":{"prototype":{"a":1}},"x":null}'
    const response = await running.post(body)
    expect(await response.text()).toBe('{"id":1,"name":"x","categoryId":1}')
    expect(({} as { a?: number }).a).toBeUndefined()
  })

  test('the last of two members with one name counts, long numbers or not', async ({ running }) => {
    const body = '{"name":"a","name":"b","categoryId":1,"categoryId":9007199254740993}'
    expect(await (await running.post(body)).text()).toBe('{"id":1,"name":"b","categoryId":9007199254740993}')
  })

  test.for(['1e18', '1000000000000000000.0', '1000000000000000000'])(
    'categoryId %s is that integer',
    async (literal, { running }) => {
      const response = await running.post(`{"name":"x","categoryId":${literal}}`)
      expect(await response.text()).toBe('{"id":1,"name":"x","categoryId":1000000000000000000}')
    },
  )

  test('a name that looks like a long number stays a name', async ({ running }) => {
    const body = '{"name":"12345678901234567890","categoryId":12345678901234567}'
    expect(await (await running.post(body)).text()).toBe(
      '{"id":1,"name":"12345678901234567890","categoryId":12345678901234567}',
    )
  })

  const types: [string, Record<string, string>][] = [
    ['text/plain', { 'Content-Type': 'text/plain' }],
    ['a form', { 'Content-Type': 'application/x-www-form-urlencoded' }],
    ['none', { 'Content-Type': '' }],
    ['another charset', { 'Content-Type': 'application/json; charset=iso-8859-1' }],
    ['gzip', { 'Content-Encoding': 'gzip' }],
    ['an unknown encoding', { 'Content-Encoding': 'x' }],
  ]
  for (const [title, headers] of types) {
    test(`${title} is 415`, async ({ running }) => {
      await expectError(await running.post('{"name":"x","categoryId":1}', headers), 415, 'UNSUPPORTED_MEDIA_TYPE')
    })
  }

  test.for(['application/json;charset=UTF-8', 'Application/JSON; charset="utf-8"', 'application/json; x=y'])(
    '%s is JSON',
    async (type, { running }) => {
      expect((await running.post('{"name":"x","categoryId":1}', { 'Content-Type': type })).status).toBe(201)
    },
  )

  test('64 KiB is read, one byte more is 413', async ({ running }) => {
    const body = '{"name":"x","categoryId":1}'.padEnd(65_536)
    expect((await running.post(body)).status).toBe(201)
    await expectError(await running.post(`${body} `), 413, 'PAYLOAD_TOO_LARGE')
  })
})

describe('getPet (§4.3)', () => {
  test('200 with the animal', async ({ running }) => {
    await running.post({ name: 'x', categoryId: 1, status: 'sold' })
    const response = await running.send('/v1/pets/1')
    expect([response.status, await response.text()]).toEqual([
      200,
      '{"id":1,"name":"x","categoryId":1,"status":"sold"}',
    ])
  })

  const cases: [string, string, RequestInit, number][] = [
    ['200', '/v1/pets/1', {}, 200],
    ['404', '/v1/pets/99', {}, 404],
    ['400 for a bad escape', '/v1/pets/%ZZ', {}, 400],
    ['405', '/v1/pets/1', { method: 'DELETE' }, 405],
    ['401', '/v1/pets/1', { headers: { Authorization: '' } }, 401],
  ]
  for (const [title, path, init, status] of cases) {
    test(`says that it is deprecated: ${title}`, async ({ running }) => {
      await running.post({ name: 'x', categoryId: 1 })
      const response = await running.send(path, init)
      expect(response.status).toBe(status)
      expect(response.headers.get('deprecation')).toMatch(/^@\d{10}$/)
      expect(response.headers.get('sunset')).toBe('Thu, 05 Dec 2030 00:00:00 GMT')
      expect(response.headers.get('link')).toBe('</v1/pets>; rel="successor-version"')
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
    test(`${method} ${path} is 405 with Allow: ${allow}`, async ({ running }) => {
      const response = await running.send(path, { method })
      expect(response.headers.get('allow')).toBe(allow)
      await expectError(response, 405, 'METHOD_NOT_ALLOWED')
    })
  }

  test.for([
    ['/v1/pets', 'GET, HEAD, POST, OPTIONS'],
    ['/v1/pets/1', 'GET, HEAD, OPTIONS'],
    ['/graphql', 'GET, HEAD, POST, OPTIONS'],
  ] as const)('OPTIONS %s is 204 with Allow: %s and no body', async ([path, allow], { running }) => {
    const response = await running.send(path, { method: 'OPTIONS' })
    expect([response.status, await response.text()]).toEqual([204, ''])
    expect(response.headers.get('allow')).toBe(allow)
  })

  test('HEAD answers like GET, without a body', async ({ running }) => {
    await running.post({ name: 'x', categoryId: 1 })
    for (const path of ['/v1/pets', '/v1/pets/1', '/v1/pets/2', '/graphql?query={pet(id:1){name}}', '/graphql']) {
      const [get, head] = [await running.send(path), await running.send(path, { method: 'HEAD' })]
      expect(head.status).toBe(get.status)
      expect(head.headers.get('content-length')).toBe(get.headers.get('content-length'))
      expect(await head.text()).toBe('')
    }
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
  test.for(nowhere)('%s is 404 as JSON', async (path, { running }) => {
    const response = await running.send(path)
    expect(response.status).toBe(404)
    expect(response.headers.get('content-type')).toMatch(/^application\/json/)
  })

  test.for(['/livez', '/readyz', '/docs', '/openapi.json', '/docs/swagger-ui.css'])(
    '%s takes GET and HEAD, says so, and is never a fault of ours',
    async (path, { running }) => {
      const post = await running.send(path, { method: 'POST' })
      expect(post.headers.get('allow')).toBe('GET, HEAD, OPTIONS')
      await expectError(post, 405, 'METHOD_NOT_ALLOWED')
      expect((await running.send(path, { method: 'OPTIONS' })).status).toBe(204)
      for (const headers of [{ Range: 'bytes=99999999-' }, { 'If-Match': '"x"' }]) {
        expect((await running.send(path, { headers })).status).toBe(200)
      }
    },
  )

  test('no Access-Control header, whatever the Origin', async ({ running }) => {
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
        const response = await running.send(path, { method, headers: { ...preflight, ...more } })
        expect([...response.headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([])
      }
    }
  })

  test('every answer has a request id: the client’s when it is sane', async ({ running }) => {
    const own = await running.send('/v1/pets', { headers: { 'X-Request-Id': 'abc-123' } })
    const odd = await running.send('/v1/nothing', { headers: { 'X-Request-Id': 'a b<c>' } })
    expect(own.headers.get('x-request-id')).toBe('abc-123')
    expect(odd.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/)
  })
})
