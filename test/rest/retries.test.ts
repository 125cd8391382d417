import { describe, expect } from 'vitest'
import { pruneIdempotencyKeys } from '../../src/animals/idempotency.ts'
import { withClient, type TestService, testWithService as test } from '../support/harness.ts'

const rex = { name: 'Rex', categoryId: 1, status: 'sold' }
const once = (key: string) => ({ 'Idempotency-Key': key })
const count = async (service: TestService) => (await service.graphql('{ pets { totalCount } }')).data?.['pets']

describe('an Idempotency-Key', () => {
  test('makes one animal: a repetition is answered with the same 201, and says so', async ({ service }) => {
    const [first, second] = [await service.post(rex, once('k')), await service.post(rex, once('k'))]
    expect([first.status, second.status]).toEqual([201, 201])
    expect(await second.text()).toBe(await first.text())
    expect(second.headers.get('location')).toBe(first.headers.get('location'))
    expect([first, second].map((r) => r.headers.get('idempotent-replayed'))).toEqual([null, 'true'])
    expect(await count(service)).toEqual({ totalCount: 1 })
  })

  test('means the same whatever the order of members and the unknown ones', async ({ service }) => {
    await service.post('{"name":"x","categoryId":9007199254740993}', once('k'))
    const again = await service.post('{"x":1, "categoryId":9007199254740993, "name":"x"}', once('k'))
    expect(await again.text()).toBe('{"id":1,"name":"x","categoryId":9007199254740993}')
  })

  test.for([
    { ...rex, name: 'Max' },
    { ...rex, categoryId: 2 },
    { ...rex, status: undefined },
  ])('with another body is 422: %j', async (other, { service }) => {
    await service.post(rex, once('k'))
    const response = await service.post(other, once('k'))
    expect(await response.json()).toMatchObject({ code: 'IDEMPOTENCY_KEY_REUSED', status: 422 })
    expect(await count(service)).toEqual({ totalCount: 1 })
  })

  test('of another caller is another key', async ({ service }) => {
    const key = await service.keys.issue('somebody else')
    await service.post(rex, once('k'))
    const response = await service.post(rex, { ...once('k'), Authorization: `Bearer ${key}` })
    expect(response.headers.get('location')).toBe('/v1/pets/2')
  })

  test('is the same key through GraphQL', async ({ service }) => {
    await service.post({ name: 'x', categoryId: 1 }, once('k'))
    const create = (name: string) =>
      service.graphql(`mutation { createPet(input: { name: "${name}", categoryId: 1 }, idempotencyKey: "k") { id } }`)
    expect((await create('x')).data).toEqual({ createPet: { id: '1' } })
    expect((await create('y')).errors?.[0]?.extensions).toEqual({ code: 'IDEMPOTENCY_KEY_REUSED', status: 422 })
  })

  test.for(['', 'a b', 'clé', 'x'.repeat(256)])('"%s" is 400', async (key, { service }) => {
    const response = await service.post(rex, once(encodeURI(key) === key || key === 'a b' ? key : 'cl\u00e9'))
    expect(await response.json()).toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: expect.stringMatching(/^Idempotency-Key: /),
    })
    expect(await count(service)).toEqual({ totalCount: 0 })
  })

  test('is not used up by a body that was refused', async ({ service }) => {
    expect((await service.post({ name: '' }, once('k'))).status).toBe(400)
    expect((await service.post(rex, once('k'))).headers.get('idempotent-replayed')).toBeNull()
  })

  test('sent eight times at once over two instances makes one animal; the others are replays or 409', async ({
    service,
  }) => {
    const other = await service.startPeer()
    for (let round = 0; round < 20; round++) {
      const sent = Array.from({ length: 8 }, (_, n) => (n % 2 ? service : other).post(rex, once(`k${round}`)))
      const answers = await Promise.all(sent)
      const made = answers.filter((r) => r.status === 201)
      expect(made.length).toBeGreaterThanOrEqual(1)
      expect(new Set(made.map((r) => r.headers.get('location'))).size).toBe(1)
      expect(made.filter((r) => !r.headers.has('idempotent-replayed'))).toHaveLength(1)
      for (const late of answers.filter((r) => r.status !== 201)) {
        expect(await late.json()).toMatchObject({ code: 'ABORTED', status: 409 })
        expect(late.headers.get('retry-after')).toBe('1')
      }
      expect(await count(service)).toEqual({ totalCount: round + 1 })
    }
  })

  test('whose request is in flight is 409', async ({ service }) => {
    await service.post(rex)
    await inDatabase(service, async (client) => {
      await client.query(
        `BEGIN; SELECT pg_advisory_xact_lock(hashtextextended((SELECT id FROM api_key)::text || ' k', 0))`,
      )
      expect(await (await service.post(rex, once('k'))).json()).toMatchObject({ code: 'ABORTED', status: 409 })
      await client.query('ROLLBACK')
    })
    expect((await service.post(rex, once('k'))).status).toBe(201)
  })

  test('is kept for 24 hours, then it means a new animal, and is pruned', async ({ service }) => {
    await service.post(rex, once('k'))
    const age = (hours: number) =>
      inDatabase(service, (client) =>
        client.query(`UPDATE idempotency_key SET created_at = now() - interval '${hours} h'`),
      )
    const location = async () => (await service.post(rex, once('k'))).headers.get('location')
    await age(23.9)
    expect(await location()).toBe('/v1/pets/1')
    expect(await pruneIdempotencyKeys(service.database.prisma)).toBe(0)
    await age(24.1)
    expect(await location()).not.toBe('/v1/pets/1')
    expect(await count(service)).toEqual({ totalCount: 2 })
    await age(24.1)
    expect(await pruneIdempotencyKeys(service.database.prisma)).toBe(1)
  })

  test('claims nothing when the insert fails: both or neither', async ({ service }) => {
    await service.post(rex)
    await inDatabase(service, async (client) => {
      await client.query(`ALTER TABLE animal ADD CONSTRAINT never CHECK (name <> 'Rex') NOT VALID`)
      expect((await service.post(rex, once('k'))).status).toBe(500)
      expect((await client.query('SELECT * FROM idempotency_key')).rows).toEqual([])
    })
  })
})

function inDatabase<T>(service: TestService, work: Parameters<typeof withClient<T>>[0]): Promise<T> {
  return withClient(work, new URL(service.databaseUrl).pathname.slice(1))
}
