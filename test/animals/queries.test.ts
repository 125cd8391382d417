import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect } from 'vitest'
import { Animal } from '../../src/animals/animal.ts'
import { columnOf, createQueries, createRunStatement, type ListQuery } from '../../src/animals/queries.ts'
import { withClient, type TestService, testWithService as test, databaseOf } from '../support/harness.ts'

const ids = [-(2n ** 63n), -1n, 0n, 1n, 2n, 3n, 9_007_199_254_740_993n, 2n ** 63n - 1n]
const status = fc.constantFrom('available', 'pending', 'sold', undefined)
const listQuery: fc.Arbitrary<ListQuery> = fc.record({
  status,
  olderThan: fc.option(fc.constantFrom(...ids), { nil: undefined }),
  newerThan: fc.option(fc.constantFrom(...ids), { nil: undefined }),
  backward: fc.boolean(),
  limit: fc.oneof(fc.integer({ min: 1, max: 9 }), fc.constant(20)),
})

async function fill(service: TestService): Promise<void> {
  const statuses = ['available', 'pending', 'sold', null] as const
  await service.database.prisma.animal.createMany({
    data: ids.map((id, n) => ({ id, name: `ü${n}'"`, categoryId: ids[n] ?? 0n, status: statuses[n % 4] ?? null })),
  })
}

test('every member of Animal has the column that schema.prisma maps it to', () => {
  const schema = readFileSync(new URL('../../prisma/schema.prisma', import.meta.url), 'utf8')
  const [, model = ''] = /^model Animal \{\n(.*?)^\}/ms.exec(schema) ?? []
  const lines = model.split('\n').map((line) => /^ {2}(\w+) +(?!\w+\[\])\w+\??(?:.*@map\("(\w+)"\))?/.exec(line) ?? [])
  const columns = lines.flatMap(([, field, column = field]) => (field ? [[field, column]] : []))
  expect(columns).toEqual(Object.keys(Animal.shape).map((field) => [field, columnOf(field)]))
})

describe('each statement returns what Prisma returns', () => {
  test('list', async ({ service: owner }) => {
    await fill(owner)
    const { pool, prisma } = owner.database
    const { list } = createQueries(createRunStatement(pool))
    await fc.assert(
      fc.asyncProperty(listQuery, async (query) => {
        const { status, olderThan, newerThan, backward, limit } = query
        const expected = await prisma.animal.findMany({
          where: {
            ...(status && { status }),
            id: {
              ...(olderThan !== undefined && { lt: olderThan }),
              ...(newerThan !== undefined && { gt: newerThan }),
            },
          },
          orderBy: { id: backward ? 'asc' : 'desc' },
          take: limit + 1,
        })
        expect(await list(query)).toEqual(expected)
      }),
      { numRuns: 300 },
    )
  })

  test('byIds', async ({ service: owner }) => {
    await fill(owner)
    const { pool, prisma } = owner.database
    const { byIds } = createQueries(createRunStatement(pool))
    await fc.assert(
      fc.asyncProperty(fc.subarray([...ids, 4n, 5n]), async (some) => {
        const expected = await prisma.animal.findMany({ where: { id: { in: some } } })
        const found = await byIds(some)
        const newestFirst = (a: { id: bigint }, b: { id: bigint }) => (a.id < b.id ? 1 : -1)
        expect(found.sort(newestFirst)).toEqual(expected.sort(newestFirst))
      }),
      { numRuns: 50 },
    )
  })

  test('create', async ({ service: owner }) => {
    const { pool, prisma } = owner.database
    const { create } = createQueries(createRunStatement(pool))
    for (const status of ['available', undefined] as const) {
      const animal = await create({ name: `Ünï'"\\ ${status}`, categoryId: 2n ** 63n - 1n, status })
      expect(await prisma.animal.findUnique({ where: { id: animal.id } })).toEqual(animal)
      expect(animal.status).toBe(status ?? null)
    }
  })
})

test('every generic plan uses an index, whatever the filter', async ({ service: owner }) => {
  const { pool } = owner.database
  await pool.query(`INSERT INTO animal (name, category_id, status) SELECT 'x', 1, (CASE WHEN i % 1000 = 0 THEN 'sold'
    WHEN i % 3 = 0 THEN 'available' END)::pet_status FROM generate_series(1, 20000) AS i`)
  await pool.query('ANALYZE animal')
  const sent: { text: string; values: unknown[] }[] = []
  const recorder = { query: async (query: { text: string; values: unknown[] }) => (sent.push(query), { rows: [] }) }
  const { list, byIds } = createQueries(createRunStatement(recorder as never)) // has every method of the pool that is used
  for (const status of ['sold', undefined] as const)
    for (const olderThan of [10_000n, undefined])
      for (const newerThan of [100n, undefined])
        for (const backward of [true, false]) await list({ status, olderThan, newerThan, backward, limit: 20 })
  await byIds([1n, 2n, 3n])
  const texts = new Set(sent.map(({ text }) => text))
  expect(texts.size).toBe(17)
  await list({ limit: 19 })
  await list({ limit: 21 })
  expect(new Set(sent.map(({ text }) => text)).size).toBe(18)
  sent.splice(17)

  const databaseName = databaseOf(owner)
  await withClient(async (client) => {
    for (const { text, values } of sent.filter(({ text }) => text.endsWith('LIMIT 21'))) {
      for (let use = 0; use < 7; use++)
        await client.query({ name: createHash('md5').update(text).digest('hex'), text, values })
      const { rows } = await client.query(
        'SELECT generic_plans AS n FROM pg_prepared_statements WHERE statement = $1',
        [text],
      )
      expect(Number(rows[0].n), text).toBeGreaterThan(0)
    }
    await client.query('SET plan_cache_mode = force_generic_plan')
    for (const { text, values } of sent) {
      const { rows } = await client.query(`EXPLAIN ${text}`, values)
      const plan = rows.map((row: Record<string, string>) => row['QUERY PLAN']).join('\n')
      expect(plan, text).toMatch(/Index Scan|Bitmap Index Scan on animal_pkey/)
      expect(plan, text).not.toMatch(/Sort|Seq Scan/)
      if (text.includes('status =')) expect(plan, text).toContain('animal_status_id_idx')
    }
  }, databaseName)
})
