import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect } from 'vitest'
import { Animal } from '../../src/animals/animal.ts'
import { SELECT_SETTLED_WITH_STATUS } from '../../src/animals/follow.ts'
import { createOnce } from '../../src/animals/idempotency.ts'
import { columnOf, createQueries, type ListQuery } from '../../src/animals/queries.ts'
import { recordStatements } from '../support/statements.ts'
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

/** What Prisma returns for a list. */
async function expectedList({ database }: TestService, query: ListQuery) {
  const { status, olderThan, newerThan, backward, limit } = query
  return database.prisma.animal.findMany({
    where: {
      ...(status && { status }),
      id: { ...(olderThan !== undefined && { lt: olderThan }), ...(newerThan !== undefined && { gt: newerThan }) },
    },
    orderBy: { id: backward ? 'asc' : 'desc' },
    take: limit + 1,
  })
}

describe('each statement returns what Prisma returns, to each of its callers', () => {
  test('list', async ({ service: owner }) => {
    await fill(owner)
    const { list } = createQueries(owner.database.statements)
    await fc.assert(
      fc.asyncProperty(fc.array(listQuery, { minLength: 1, maxLength: 30 }), async (queries) => {
        const expected = await Promise.all(queries.map((query) => expectedList(owner, query)))
        expect(await Promise.all(queries.map(list))).toEqual(expected)
      }),
      { numRuns: 50 },
    )
  })

  test('byId', async ({ service: owner }) => {
    await fill(owner)
    const { prisma, statements } = owner.database
    const { byId } = createQueries(statements)
    const expected = new Map((await prisma.animal.findMany()).map((animal) => [animal.id, animal]))
    await fc.assert(
      fc.asyncProperty(fc.array(fc.constantFrom(...ids, 4n, 5n)), async (some) => {
        expect(await Promise.all(some.map(byId))).toEqual(some.map((id) => expected.get(id)))
      }),
      { numRuns: 50 },
    )
  })

  test('create', async ({ service: owner }) => {
    const { prisma, statements } = owner.database
    const { create } = createQueries(statements)
    const pet = fc.record({
      name: fc.string({ unit: 'grapheme', minLength: 1 }).filter((name) => !name.includes('\0')),
      categoryId: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
      status,
    })
    await fc.assert(
      fc.asyncProperty(fc.array(pet, { maxLength: 120 }), async (pets) => {
        const created = await Promise.all(pets.map(create))
        expect(created).toEqual(pets.map((pet, n) => ({ ...pet, status: pet.status ?? null, id: created[n]?.id })))
        const ids = created.map(({ id }) => id)
        expect(ids, 'in the order of arrival').toEqual(ids.toSorted((a, b) => Number(a - b)))
        const stored = await prisma.animal.findMany({ where: { id: { in: ids } }, orderBy: { id: 'asc' } })
        expect(stored).toEqual(created)
      }),
      { numRuns: 30 },
    )
  })
})

test('every page is read from an index without sorting, also of a rare status, with a generic plan', async ({
  service: owner,
}) => {
  const { pool, statements } = owner.database
  await pool.query(`INSERT INTO animal (name, category_id, status) SELECT 'x', 1, (CASE WHEN i <= 30 THEN 'sold'
    ELSE 'available' END)::pet_status FROM generate_series(1, 50000) AS i`)
  await pool.query('ANALYZE animal')
  const { list, byId } = createQueries(statements)
  const sent = recordStatements(owner)
  for (const status of ['sold', undefined] as const)
    for (const backward of [true, false])
      for (const bounds of [{}, { olderThan: 10_000n, newerThan: 5n }])
        await list({ status, backward, limit: 20, ...bounds })
  await byId(1n)
  expect(new Set(sent.map(({ text }) => text)).size).toBe(5)
  sent.push({ text: SELECT_SETTLED_WITH_STATUS, values: ['5', '40000', 'sold'] })

  await withClient(async (client) => {
    for (const { text, values } of sent) {
      const name = `s${sent.findIndex((other) => other.text === text)}`
      for (let use = 0; use < 7; use++) await client.query({ name, text, values })
      const usesOf = 'SELECT generic_plans FROM pg_prepared_statements WHERE name = $1'
      const { rows: uses } = await client.query(usesOf, [name])
      // The number of ids in an array changes its plan, and so do the bounds of a subscription.
      if (text.includes('json_to_recordset')) expect(Number(uses[0].generic_plans), text).toBeGreaterThan(0)

      await client.query('SET plan_cache_mode = force_generic_plan')
      const { rows } = await client.query(`EXPLAIN (ANALYZE, FORMAT JSON) ${text}`, values)
      const plan = JSON.stringify(rows[0]['QUERY PLAN'])
      const index = text.includes('(status, id)') ? 'animal_status_id_idx' : 'animal_pkey'
      expect(plan, text).toContain(`"Index Name": "${index}"`.replace(': ', ':'))
      expect(plan, text).not.toMatch(/"(Sort|Incremental Sort|Seq Scan)"/)
      expect(plan, text).not.toContain('Rows Removed by Filter')
      await client.query('RESET plan_cache_mode')
    }
  }, databaseOf(owner))
})

test('keys are claimed by the primary key, also before PostgreSQL has statistics of the table', async ({
  service: owner,
}) => {
  const { pool, statements } = owner.database
  await pool.query('ALTER TABLE idempotency_key SET (autovacuum_enabled = false)')
  const { rows: owners } = await pool.query('SELECT id FROM api_key LIMIT 1')
  await pool.query(
    `WITH created AS (INSERT INTO animal (name, category_id) SELECT 'x', 1 FROM generate_series(1, 20000) RETURNING id)
     INSERT INTO idempotency_key (api_key_id, key, fingerprint, animal_id) SELECT $1, id, '', id FROM created`,
    [owners[0].id],
  )
  const sent = recordStatements(owner)
  await createOnce(statements)({ clientId: BigInt(owners[0].id), key: 'new' }, { name: 'Rex', categoryId: 1n })
  const { rows } = await withClient(
    (client) => client.query(`EXPLAIN (FORMAT JSON) ${sent[0]?.text}`, sent[0]?.values),
    databaseOf(owner),
  )
  const plan = JSON.stringify(rows[0]['QUERY PLAN'])
  expect(plan).toContain('"Index Name":"idempotency_key_pkey"')
  expect(plan).toContain('"Index Name":"animal_pkey"')
  expect(plan).not.toMatch(/Seq Scan|created_at_idx/)
})
