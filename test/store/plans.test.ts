import type pg from 'pg'
import { expect } from 'vitest'
import { animals, PetStatus } from '../../src/pets/animal.ts'
import { createFollow } from '../../src/feed/follow.ts'
import { createGapReader } from '../../src/feed/gap-reader.ts'
import { createIdempotentInsertQuery } from '../../src/store/idempotency.ts'
import { createCountQuery, createListQuery } from '../../src/store/lists.ts'
import { createInsertQuery, createLookupQuery } from '../../src/store/lookup-and-insert.ts'
import { RecentItems } from '../../src/feed/recent.ts'
import { createWriterWait } from '../../src/feed/writers.ts'
import { hashKey } from '../../src/auth/api-keys.ts'
import { createKeyLookup } from '../../src/auth/key-lookup.ts'
import { toPreparedStatement } from '../../src/database/pool.ts'
import { createStatements } from '../../src/database/statements.ts'
import { testWithService as test, type TestService, withClient } from '../support/harness.ts'
import { givenUrl } from '../support/postgres.ts'
import { recordStatements, type Statement } from '../support/statements.ts'

/** Above a cost of 100,000 (jit_above_cost) PostgreSQL compiles every execution, if it has LLVM. */
const MAX_COST = 2_000
/** A page of 21 animals may have a block for each; the rest is for the catalogue. */
const MAX_BLOCKS = 200
const SMALL = 1_000
const LARGE = givenUrl ? 1_000_000 : 300_000

test('every statement costs the same in a large table as in a small one, for a rare status too, and a page reads few blocks, whatever the filter, the bounds and the plan', async ({
  service,
}) => {
  await growTables(service, SMALL)
  const sent = await executeAll(service)
  const texts = new Set(sent.map(({ text }) => text))
  expect(texts.size).toBe(15)
  await withClient(async (client) => {
    const small = new Map<string, number>()
    for (const text of texts) small.set(text, (await genericPlan(client, text)).cost)
    await growTables(service, LARGE)
    for (const text of texts) {
      const { cost, plan } = await genericPlan(client, text)
      expect(cost, `${text}\n${plan}`).toBeLessThan((small.get(text) ?? 0) + 100)
      expect(plan, text).not.toContain('"JIT"')
    }
    for (const { text, values } of sent) {
      const { cost, plan } = await explain(client, text, values) // may depend on the values
      expect(cost, `${text}\n${String(values)}\n${plan}`).toBeLessThan(MAX_COST)
    }
    // Animals without a status follow the sold ones in an index that begins with the category.
    await client.query(`
      INSERT INTO animal (name, category_id) SELECT 'x', 2 FROM generate_series(1, 50000);
      ANALYZE animal`)
    for (const mode of ['force_generic_plan', 'force_custom_plan']) {
      await client.query(`SET plan_cache_mode = ${mode}`)
      for (const [n, { text, values }] of sent.filter(({ text }) => text.includes('AS page')).entries()) {
        await client.query(`PREPARE page_${n} AS ${text}`)
        const { blocks } = await execute(client, `page_${n}`, values)
        expect(blocks, `${mode} ${text}\n${String(values)}`).toBeLessThan(MAX_BLOCKS)
      }
      await client.query('DEALLOCATE ALL')
    }
  }, service.databaseUrl)
})

test('the count of an empty category reads few blocks, and is not compiled, whatever the plan', async ({ service }) => {
  const { pool, readCount } = service.database
  await pool.query(`
    ALTER TABLE animal SET (autovacuum_enabled = false);
    INSERT INTO animal (name, category_id) SELECT 'x', i % 2 FROM generate_series(1, 50000) AS i`)
  const sent = recordStatements(service)
  const count = createCountQuery(animals, readCount)
  await Promise.all([count({ categoryId: 2n }), count({ categoryId: 2n, status: 'sold' })])
  const counts = sent.filter(({ text }) => text.includes('count('))
  expect(counts).toHaveLength(2)
  await withClient(async (client) => {
    await client.query('SET jit_above_cost = 0')
    const setGeneric = 'SET plan_cache_mode = force_generic_plan'
    for (const prepare of [setGeneric, 'SET plan_cache_mode = auto', 'ANALYZE animal']) {
      await client.query(prepare)
      for (const { text, values } of counts) {
        await client.query(`${sent[0]?.text}; PREPARE count AS ${text}`)
        const { blocks, plan } = await execute(client, 'count', values)
        await client.query('ROLLBACK; DEALLOCATE count')
        expect(blocks, plan).toBeLessThan(MAX_BLOCKS)
        expect(plan).not.toContain('"JIT"')
      }
    }
  }, service.databaseUrl)
})

test('PostgreSQL plans pages, lookups and claims of keys once', async ({ service }) => {
  await growTables(service, 10_000) // in a smaller table it would plan any lookup once
  const sent = (await executeAll(service)).filter(({ text }) => /json_agg|WHERE id = ANY|pg_try_advisory/.test(text))
  await withClient(async (client) => {
    for (const { text, values } of sent) {
      for (let use = 0; use < 7; use++) await client.query(toPreparedStatement(text, values))
    }
    const { rows } = await client.query('SELECT statement, generic_plans FROM pg_prepared_statements')
    expect(rows).toHaveLength(10)
    for (const { statement, generic_plans: uses } of rows) expect(Number(uses), statement).toBeGreaterThan(0)
  }, service.databaseUrl)
})

/**
 * Adds animals up to a number: the oldest three are sold, one in a thousand is pending, one has no status, the rest are
 * available. Category 2 has a few of the oldest, category 1 the rest. Other tables get fewer rows.
 */
async function growTables({ database: { pool } }: TestService, count: number): Promise<void> {
  const upTo = (last: number) => `generate_series((SELECT count(*) + 1 FROM animal), ${last}) AS i`
  const fewer = upTo(Math.min(count, 50_000))
  await pool.query(`
    INSERT INTO api_key (name, prefix, hash) SELECT 'x', 'x', sha256(i::text::bytea) FROM ${fewer};
    INSERT INTO animal (name, category_id, status) SELECT 'x', CASE WHEN i BETWEEN 2 AND 50 THEN 2 ELSE 1 END,
      (CASE WHEN i <= 3 THEN 'sold' WHEN i % 1000 = 7 THEN 'pending' WHEN i <> 30 THEN 'available' END)::pet_status
      FROM ${upTo(count)};
    INSERT INTO idempotency_key (api_key_id, key, fingerprint, animal_id)
      SELECT (SELECT min(id) FROM api_key), id, '', id FROM animal WHERE id <= 50000 ON CONFLICT DO NOTHING`)
  await pool.query('ANALYZE')
}

/** Executes every statement of a request and of a subscription on SMALL animals. @returns them */
async function executeAll(service: TestService): Promise<Statement[]> {
  const { pool, statements } = service.database
  const newest = BigInt(SMALL)
  const sent = recordStatements(service)

  const list = createListQuery(animals, statements)
  const { readRows } = createStatements(pool)
  const state = { recent: new RecentItems<typeof animals>(newest), newestPosition: newest }
  const follow = createFollow(animals, list, { listen: () => () => {}, state, onError: () => expect.unreachable() })
  for (const status of [...PetStatus.options, undefined]) {
    for (const categoryId of [undefined, 1n, 2n, 3n])
      for (const backward of [true, false])
        for (const bounds of [{}, { olderThan: newest / 2n }, { olderThan: 40n, newerThan: 35n }])
          await list({ status, categoryId, backward, limit: 20, ...bounds })
    for (const categoryId of [undefined, 2n])
      await follow(0n, { status, categoryId }, { clientId: 1n, signal: new AbortController().signal }).next()
  }
  await createGapReader(animals, readRows).read(new RecentItems<typeof animals>(-1n)) // 0 is a gap
  const wait = await createWriterWait(animals, readRows)()
  await wait.update()

  const keyHash = hashKey(service.key)
  const keyLookup = createKeyLookup(statements, () => new Date())
  const { clientId } = (await keyLookup.find(keyHash)) ?? expect.unreachable()

  await createLookupQuery(animals, statements)(1n)
  await createInsertQuery(animals, statements)({ name: 'Rex', categoryId: 1n })
  await createIdempotentInsertQuery(animals, statements)({ clientId, key: 'new' }, { name: 'Rex', categoryId: 1n })
  return [...sent]
}

/** The estimate, how many blocks it reads if `options` say that it is executed, and the plan as JSON. */
async function explain(client: pg.Client, text: string, values?: unknown[], options = '') {
  const { rows } = await client.query(`EXPLAIN (${options}FORMAT JSON) ${text}`, values)
  const [{ Plan: plan }] = rows[0]['QUERY PLAN']
  const blocks: number = plan['Shared Hit Blocks'] + plan['Shared Read Blocks']
  return { cost: plan['Total Cost'] as number, blocks, plan: JSON.stringify(rows[0]['QUERY PLAN']) }
}

/** Executes a prepared statement. */
function execute(client: pg.Client, name: string, values: unknown[]) {
  const parameters = values.map((value) => client.escapeLiteral(String(value)))
  return explain(client, `EXECUTE ${name}(${parameters.join()})`, undefined, 'ANALYZE, BUFFERS, ')
}

/** The plan that does not depend on the parameters' values, as PostgreSQL keeps it for a prepared statement. */
async function genericPlan(client: pg.Client, text: string) {
  const parameters = new Set(text.match(/\$\d/g))
  await client.query('SET plan_cache_mode = force_generic_plan')
  await client.query(`PREPARE generic AS ${text}`)
  const values = parameters.size ? `(${Array.from(parameters, () => 'NULL').join()})` : ''
  const plan = await explain(client, `EXECUTE generic${values}`)
  await client.query('DEALLOCATE generic; RESET plan_cache_mode')
  return plan
}

test('keys are claimed by the primary key, also before PostgreSQL has statistics', async ({ service: owner }) => {
  const { pool, statements } = owner.database
  await pool.query('ALTER TABLE idempotency_key SET (autovacuum_enabled = false)')
  const { rows: owners } = await pool.query('SELECT id FROM api_key LIMIT 1')
  await pool.query(
    `WITH created AS (INSERT INTO animal (name, category_id) SELECT 'x', 1 FROM generate_series(1, 20000) RETURNING id)
     INSERT INTO idempotency_key (api_key_id, key, fingerprint, animal_id) SELECT $1, id, '', id FROM created`,
    [owners[0].id],
  )
  const sent = recordStatements(owner)
  const once = { clientId: BigInt(owners[0].id), key: 'new' }
  await createIdempotentInsertQuery(animals, statements)(once, { name: 'Rex', categoryId: 1n })
  const [{ text, values } = expect.unreachable()] = sent
  const { plan } = await withClient((client) => explain(client, text, values), owner.databaseUrl)
  expect(plan).toContain('"Index Name":"idempotency_key_pkey"')
  expect(plan).toContain('"Index Name":"animal_pkey"')
  expect(plan).not.toMatch(/Seq Scan|created_at_idx/)
})
