import { describe, expect } from 'vitest'
import { createAnimals } from '../../src/animals/service.ts'
import { type TestService, testWithService as test } from '../support/harness.ts'

/** A statement as it was sent, and how many were under way at that moment. */
interface Sent {
  sql: string
  underWay: number
}

/** Notes every statement that the service sends from now on. */
function record({ database }: TestService): Sent[] {
  const sent: Sent[] = []
  let underWay = 0
  const query = database.pool.query.bind(database.pool) as (q: { text: string }) => Promise<unknown>
  database.pool.query = ((q: { text: string }) => {
    underWay++
    sent.push({ sql: q.text.replaceAll('"public".', '').replaceAll('"', ''), underWay })
    return query(q).finally(() => underWay--)
  }) as never // stands in for all of pg's overloads
  return sent
}

async function createSome(service: TestService, n: number): Promise<void> {
  for (let i = 0; i < n; i++) await service.post({ name: `animal ${i}`, categoryId: i })
}

describe('no more is read than is selected', () => {
  test('ten aliases of pet are one query, and each gets its own animal', async ({ service }) => {
    await createSome(service, 10)
    const sent = record(service)
    const aliases = Array.from({ length: 10 }, (_, i) => `a${i}: pet(id: ${i + 1}) { name }`)
    const { data } = await service.graphql(
      `{ ${aliases.join(' ')} absent: pet(id: 99) { name } again: pet(id: 1) { name } }`,
    )
    const expected = Object.fromEntries(aliases.map((_, i) => [`a${i}`, { name: `animal ${i}` }]))
    expect(data).toEqual({ ...expected, absent: null, again: { name: 'animal 0' } })
    expect(sent).toHaveLength(1)
  })

  test('whoever asks for an animal in the same turn of the event loop shares a query', async ({ service }) => {
    await createSome(service, 3)
    const animals = createAnimals(service.database.prisma, service.database.pool)
    const sent = record(service)
    const [now, tick, micro] = await Promise.all([
      animals.get('1'),
      new Promise((resolve) => process.nextTick(() => resolve(animals.get('2')))),
      Promise.resolve().then(() => animals.get('3')),
    ])
    expect([now, tick, micro]).toMatchObject([{ id: 1n }, { id: 2n }, { id: 3n }])
    expect(sent).toHaveLength(1)
  })

  test('totalCount alone counts and reads no page; without it nothing is counted', async ({ service }) => {
    await createSome(service, 1)
    const sent = record(service)
    expect((await service.graphql('{ pets { totalCount } }')).data).toEqual({ pets: { totalCount: 1 } })
    expect(sent.map(({ sql }) => /COUNT/i.test(sql))).toEqual([true])
    await service.graphql('{ pets { nodes { id } } }')
    expect(sent.map(({ sql }) => /COUNT/i.test(sql))).toEqual([true, false])
  })

  test('a list and its count are asked for side by side', async ({ service }) => {
    await createSome(service, 1)
    const sent = record(service)
    await service.graphql('{ pets { nodes { id } totalCount pageInfo { hasNextPage } edges { cursor } } }')
    expect(sent.map(({ underWay }) => underWay)).toEqual([1, 2])
  })
})
