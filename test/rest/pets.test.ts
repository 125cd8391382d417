import { describe, expect } from 'vitest'
import { type TestService, testWithService as test } from '../support/harness.ts'

async function ids(response: Response): Promise<number[]> {
  return ((await response.json()) as { id: number }[]).map(({ id }) => id)
}

async function createSome(owner: TestService, count: number, status?: string): Promise<void> {
  for (let n = 0; n < count; n++) await owner.post({ name: `animal ${n}`, categoryId: n, status })
}

describe('listPets (§4.1)', () => {
  test('an empty store is an empty array', async ({ service: owner }) => {
    const response = await owner.send('/v1/pets')
    expect([response.status, await response.text()]).toEqual([200, '[]'])
  })

  test('20 animals by default, newest first', async ({ service: owner }) => {
    await createSome(owner, 21)
    const page = await ids(await owner.send('/v1/pets'))
    expect(page).toEqual(Array.from({ length: 20 }, (_, n) => 21 - n))
  })

  test('an animal without status has no status member', async ({ service: owner }) => {
    await owner.post({ name: 'x', categoryId: 5 })
    expect(await (await owner.send('/v1/pets')).text()).toBe('[{"id":1,"name":"x","categoryId":5}]')
  })

  test('following next visits every animal of the filter once, then ends', async ({ service: owner }) => {
    await createSome(owner, 5, 'sold')
    await createSome(owner, 3, 'available')
    const seen: number[] = []
    let address: string | undefined = '/v1/pets?limit=2&status=sold'
    while (address) {
      const response: Response = await owner.send(address)
      expect(response.headers.get('link')).toContain('</v1/pets?limit=2&status=sold>; rel="first"')
      address = /<([^>]*)>; rel="next"/.exec(response.headers.get('link') ?? '')?.[1]
      seen.push(...(await ids(response)))
    }
    expect(seen).toEqual([5, 4, 3, 2, 1])
  })

  test('a cursor is good only for the filter that it came from', async ({ service: owner }) => {
    await createSome(owner, 2, 'sold')
    const link = (await owner.send('/v1/pets?limit=1&status=sold')).headers.get('link') ?? ''
    const cursor = /cursor=([^>&]+)/.exec(link)?.[1]
    const response = await owner.send(`/v1/pets?cursor=${cursor}`)
    expect(((await response.json()) as { message: string }).message).toContain('the same status filter')
  })
})

describe('createPet (§4.2)', () => {
  test('201 with the animal, its new id and its address', async ({ service: owner }) => {
    const response = await owner.post({ name: 'Rex', categoryId: 3, status: 'available' })
    expect(response.status).toBe(201)
    expect(await response.text()).toBe('{"id":1,"name":"Rex","categoryId":3,"status":"available"}')
    expect(response.headers.get('location')).toBe('/v1/pets/1')
    expect((await owner.send('/v1/pets/1')).status).toBe(200)
  })

  test('unknown members and id are ignored, and pollute nothing', async ({ service: owner }) => {
    const body = '{"id":77,"name":"x","categoryId":1,"__proto__":{"a":1},"constructor":{"prototype":{"a":1}},"x":null}'
    const response = await owner.post(body)
    expect(await response.text()).toBe('{"id":1,"name":"x","categoryId":1}')
    expect(({} as { a?: number }).a).toBeUndefined()
  })

  test('the last of two members with one name counts, long numbers or not', async ({ service: owner }) => {
    const body = '{"name":"a","name":"b","categoryId":1,"categoryId":9007199254740993}'
    expect(await (await owner.post(body)).text()).toBe('{"id":1,"name":"b","categoryId":9007199254740993}')
  })

  test.for(['1e18', '1000000000000000000.0', '1000000000000000000'])(
    'categoryId %s is that integer',
    async (literal, { service: owner }) => {
      const response = await owner.post(`{"name":"x","categoryId":${literal}}`)
      expect(await response.text()).toBe('{"id":1,"name":"x","categoryId":1000000000000000000}')
    },
  )

  test('a name that looks like a long number stays a name', async ({ service: owner }) => {
    const body = '{"name":"12345678901234567890","categoryId":12345678901234567}'
    expect(await (await owner.post(body)).text()).toBe(
      '{"id":1,"name":"12345678901234567890","categoryId":12345678901234567}',
    )
  })

  test.for(['application/json;charset=UTF-8', 'Application/JSON; charset="utf-8"', 'application/json; x=y'])(
    '%s is JSON',
    async (type, { service: owner }) => {
      expect((await owner.post('{"name":"x","categoryId":1}', { 'Content-Type': type })).status).toBe(201)
    },
  )

  test('64 KiB is read, one byte more is 413', async ({ service: owner }) => {
    const body = '{"name":"x","categoryId":1}'.padEnd(65_536)
    expect((await owner.post(body)).status).toBe(201)
    const refused = await owner.post(`${body} `)
    const error = { status: 413, code: 'PAYLOAD_TOO_LARGE', message: expect.stringMatching(/\S/) }
    expect([refused.status, await refused.json()]).toEqual([413, error])
  })
})

describe('getPet (§4.3)', () => {
  test('200 with the animal', async ({ service: owner }) => {
    await owner.post({ name: 'x', categoryId: 1, status: 'sold' })
    const response = await owner.send('/v1/pets/1')
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
    test(`says that it is deprecated: ${title}`, async ({ service: owner }) => {
      await owner.post({ name: 'x', categoryId: 1 })
      const response = await owner.send(path, init)
      expect(response.status).toBe(status)
      expect(response.headers.get('deprecation')).toMatch(/^@\d{10}$/)
      expect(response.headers.get('sunset')).toBe('Thu, 05 Dec 2030 00:00:00 GMT')
      expect(response.headers.get('link')).toBe('</v1/pets>; rel="successor-version"')
    })
  }

  test('HEAD answers like GET, without a body', async ({ service: owner }) => {
    await owner.post({ name: 'x', categoryId: 1 })
    for (const path of ['/v1/pets', '/v1/pets/1', '/v1/pets/2', '/graphql?query={pet(id:1){name}}', '/graphql']) {
      const [get, head] = [await owner.send(path), await owner.send(path, { method: 'HEAD' })]
      expect(head.status).toBe(get.status)
      expect(head.headers.get('content-length')).toBe(get.headers.get('content-length'))
      expect(await head.text()).toBe('')
    }
  })
})
