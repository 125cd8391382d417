import { describe, expect } from 'vitest'
import { type TestService, testWithService as test } from '../support/harness.ts'

async function ids(response: Response): Promise<number[]> {
  return ((await response.json()) as { id: number }[]).map(({ id }) => id)
}

async function createSome(service: TestService, count: number, status?: string): Promise<void> {
  for (let n = 0; n < count; n++) await service.post({ name: `animal ${n}`, categoryId: n, status })
}

describe('listPets (§4.1)', () => {
  test('no animals are an empty array', async ({ service }) => {
    const response = await service.send('/v1/pets')
    expect([response.status, await response.text()]).toEqual([200, '[]'])
  })

  test('20 animals by default, newest first', async ({ service }) => {
    await createSome(service, 21)
    const page = await ids(await service.send('/v1/pets'))
    expect(page).toEqual(Array.from({ length: 20 }, (_, n) => 21 - n))
  })

  test('an animal without status has no status member', async ({ service }) => {
    await service.post({ name: 'x', categoryId: 5 })
    expect(await (await service.send('/v1/pets')).text()).toBe('[{"id":1,"name":"x","categoryId":5}]')
  })

  test('one message names every invalid parameter, and unknown ones are ignored', async ({ service }) => {
    const response = await service.send('/v1/pets?limit=0&status=x&page=3&__proto__=x')
    expect(((await response.json()) as { message: string }).message).toBe(
      'limit: must be an integer from 1 to 100; status: must be one of available, pending, sold',
    )
    expect((await service.send('/v1/pets?page=3&foo=bar&__proto__=x')).status).toBe(200)
  })

  test('a cursor is only valid with the filter of its page', async ({ service }) => {
    await createSome(service, 2, 'sold')
    const link = (await service.send('/v1/pets?limit=1&status=sold')).headers.get('link') ?? ''
    const cursor = /cursor=([^>&]+)/.exec(link)?.[1]
    const response = await service.send(`/v1/pets?cursor=${cursor}`)
    expect(((await response.json()) as { message: string }).message).toContain('the same status filter')
  })
})

describe('createPet (§4.2)', () => {
  test('201 with the animal, its new id and its Location', async ({ service }) => {
    const response = await service.post({ name: 'Rex', categoryId: 3, status: 'available' })
    expect(response.status).toBe(201)
    expect(await response.text()).toBe('{"id":1,"name":"Rex","categoryId":3,"status":"available"}')
    expect(response.headers.get('location')).toBe('/v1/pets/1')
    expect((await service.send('/v1/pets/1')).status).toBe(200)
  })

  test('unknown members and id are ignored, without prototype pollution', async ({ service }) => {
    const objects = '"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}},"prototype":{"polluted":1}'
    const functions = '"toString":null,"valueOf":null,"toJSON":null,"then":null,"hasOwnProperty":null'
    const others = `"Name":"y","STATUS":"gone","":1,"category_id":2,"x":1,"x":2,"deep":${'['.repeat(500)}${']'.repeat(500)}`
    const response = await service.post(`{"id":77,"name":"x","categoryId":1,${objects},${functions},${others}}`)
    expect(await response.text()).toBe('{"id":1,"name":"x","categoryId":1}')
    expect(({} as { polluted?: number }).polluted).toBeUndefined()
  })

  test('the last of two members with the same name counts', async ({ service }) => {
    const body = '{"name":"a","name":"b","categoryId":1,"categoryId":9007199254740993}'
    expect(await (await service.post(body)).text()).toBe('{"id":1,"name":"b","categoryId":9007199254740993}')
  })

  test.for(['1e18', '1000000000000000000.0', '1000000000000000000'])(
    'categoryId %s is stored as the integer',
    async (literal, { service }) => {
      const response = await service.post(`{"name":"x","categoryId":${literal}}`)
      expect(await response.text()).toBe('{"id":1,"name":"x","categoryId":1000000000000000000}')
    },
  )

  test.for(['application/json;charset=UTF-8', 'Application/JSON; charset="utf-8"', 'application/json; x=y'])(
    '%s is JSON',
    async (type, { service }) => {
      expect((await service.post('{"name":"x","categoryId":1}', { 'Content-Type': type })).status).toBe(201)
    },
  )

  test('a body of 64 KiB is accepted, one byte more is 413', async ({ service }) => {
    const body = '{"name":"x","categoryId":1}'.padEnd(65_536)
    expect((await service.post(body)).status).toBe(201)
    expect((await service.post(`${body} `)).status).toBe(413)
  })
})

describe('getPet (§4.3)', () => {
  test('200 with the animal', async ({ service }) => {
    await service.post({ name: 'x', categoryId: 1, status: 'sold' })
    const response = await service.send('/v1/pets/1')
    expect([response.status, await response.text()]).toEqual([
      200,
      '{"id":1,"name":"x","categoryId":1,"status":"sold"}',
    ])
  })

  const requests: { path: string; init?: RequestInit; status: number }[] = [
    { path: '/v1/pets/1', status: 200 },
    { path: '/v1/pets/99', status: 404 },
    { path: '/v1/pets/%ZZ', status: 400 },
    { path: '/v1/pets/1', init: { method: 'DELETE' }, status: 405 },
    { path: '/v1/pets/1', init: { headers: { Authorization: '' } }, status: 401 },
  ]
  for (const { path, init, status } of requests) {
    test(`a ${status} response has the deprecation headers`, async ({ service }) => {
      await service.post({ name: 'x', categoryId: 1 })
      const response = await service.send(path, init)
      expect(response.status).toBe(status)
      expect(response.headers.get('deprecation')).toMatch(/^@\d{10}$/)
      expect(response.headers.get('sunset')).toBe('Thu, 05 Dec 2030 00:00:00 GMT')
      expect(response.headers.get('link')).toBe('</v1/pets>; rel="successor-version"')
    })
  }

  test('HEAD has the status and Content-Length of GET, without a body', async ({ service }) => {
    await service.post({ name: 'x', categoryId: 1 })
    for (const path of ['/v1/pets', '/v1/pets/1', '/v1/pets/2', '/graphql?query={pet(id:1){name}}', '/graphql']) {
      const [get, head] = [await service.send(path), await service.send(path, { method: 'HEAD' })]
      expect(head.status).toBe(get.status)
      expect(head.headers.get('content-length')).toBe(get.headers.get('content-length'))
      expect(await head.text()).toBe('')
    }
  })
})
