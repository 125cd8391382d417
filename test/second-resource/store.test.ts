import type pg from 'pg'
import { describe, expect } from 'vitest'
import { createGapReader } from '../../src/feed/gap-reader.ts'
import { RecentItems } from '../../src/feed/recent.ts'
import { createStore } from '../../src/store/store.ts'
import { createStatements } from '../../src/database/statements.ts'
import { createToInput } from '../../src/graphql/schema/arguments.ts'
import { Int64 } from '../../src/store/types.ts'
import { type TestService, withClient } from '../support/harness.ts'
import { countBlocked } from '../support/locks.ts'
import { interceptStatements, recordStatements } from '../support/statements.ts'
import { waitUntil } from '../support/timeouts.ts'
import { clientIdOf, storeOf, testWithOrders as test } from './fixture.ts'
import { orders } from './orders.ts'

/** All orders as the feed reads them. */
async function readFeed({ database: { pool } }: TestService) {
  const recent = new RecentItems<typeof orders>(0n)
  await createGapReader(orders, createStatements(pool).readRows).read(recent)
  return recent.newest(100)
}

test('what PostgreSQL adds is the same in creation, replay, list, lookup and feed', async ({ service }) => {
  // The time depends on the id. PostgreSQL returns the rows of a batch in another order, and in another time zone.
  await service.database.pool.query(`
    DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET timezone TO ''Asia/Kolkata''', current_database()); END $$;
    CREATE FUNCTION set_time() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      NEW.created_at := timestamptz '2026-12-31T23:59:59.009Z' + NEW.id * interval '1 ms';
      RETURN NEW;
    END $$;
    CREATE TRIGGER set_time BEFORE INSERT ON "order" FOR EACH ROW EXECUTE FUNCTION set_time()`)
  const peer = await service.startPeer()
  interceptStatements(peer, async ({ text }, send) => {
    const result = (await send()) as pg.QueryResult // as pg's promise
    if (text.includes('INSERT')) result.rows.reverse()
    return result
  })
  const { create, get, list } = storeOf(peer)
  const clientId = await clientIdOf(service)
  const quantities = Array.from({ length: 20 }, (_, n) => n + 1)
  const createAll = () =>
    Promise.all(
      quantities.map((quantity) => {
        const once = quantity > 10 ? { clientId, key: `k${quantity}` } : undefined
        return create({ petId: 1n, quantity }, once)
      }),
    )

  const created = (await createAll()).map(({ item }) => item)
  for (const [n, order] of created.entries()) {
    const createdAt = `2026-12-31T23:59:59.${String(9n + order.id).padStart(3, '0')}Z`
    expect(order).toEqual({ id: order.id, petId: 1n, quantity: n + 1, status: 'placed', createdAt })
  }
  expect((await createAll()).slice(10)).toEqual(created.slice(10).map((item) => ({ item, replayed: true })))
  const oldest = created.toSorted((a, b) => (a.id < b.id ? -1 : 1))
  expect(await Promise.all(oldest.map(({ id }) => get(String(id))))).toEqual(oldest)
  expect((await list({ limit: 30, status: 'placed' })).items.slice(10)).toEqual(oldest.toReversed())
  expect((await readFeed(peer)).slice(0, 20)).toEqual(oldest)
})

test('an int64 with a rule is exact in both APIs', async ({ service }) => {
  const petId = Int64.refine((id) => id > 0n, 'must be positive')
  const positive = { ...orders, input: orders.input.extend({ petId }), item: orders.item.extend({ petId }) }
  const id = 2n ** 53n + 1n
  await service.database.pool.query("INSERT INTO animal (id, name, category_id) VALUES ($1, 'Tom', 1)", [id])
  const { create, list } = createStore(positive, service.database.statements, service.database.readCount)
  await create(createToInput(positive)({ petId: String(id), quantity: 1 }))
  expect((await list({ limit: 1 })).items).toMatchObject([{ petId: id }])
  expect(() => createToInput(positive)({ petId: '0', quantity: 1 })).toThrow('petId: must be positive')
})

test('a time that clients send is returned as it is stored', async ({ service }) => {
  const input = orders.input.extend({ createdAt: orders.item.shape.createdAt })
  const { statements, readCount } = service.database
  const { create } = createStore({ ...orders, input }, statements, readCount)
  const order = { petId: 1n, quantity: 1, createdAt: '2026-11-25T12:00:00Z' }
  const stored = { createdAt: '2026-11-25T12:00:00.000Z', status: 'placed' }
  expect((await create(order)).item).toMatchObject(stored)
  expect((await create(order, { clientId: await clientIdOf(service), key: 'k' })).item).toMatchObject(stored)
})

describe('an order of a pet that does not exist', () => {
  test.for([false, true])(
    'is 400 and draws no id, with a key: %s; the others of its batch are stored',
    async (hasKey, { service }) => {
      const { pool } = service.database
      const { create } = storeOf(service)
      const clientId = await clientIdOf(service)
      const send = (petId: bigint, n: number) =>
        create({ petId, quantity: 1 }, hasKey ? { clientId, key: `k${n}` } : undefined, ['input'])
      const sent = recordStatements(service)
      const pets = Array.from({ length: 25 }, (_, n) => (n === 9 ? 404n : 1n))
      const results = await Promise.allSettled(pets.map(send))
      expect(sent.filter(({ text }) => text.includes('INSERT'))).toHaveLength(1)
      const [rejected] = results.splice(9, 1)
      expect(rejected).toMatchObject({
        reason: { code: 'INVALID_ARGUMENT', fields: [{ path: ['input', 'petId'], message: 'no animal has this id' }] },
      })
      const ids = results.map((result) => (result.status === 'fulfilled' ? result.value.item.id : result.reason))
      expect(ids).toEqual(Array.from({ length: 24 }, (_, n) => BigInt(n + 1)))
      expect((await pool.query('SELECT FROM idempotency_key')).rowCount).toBe(hasKey ? 24 : 0)
      expect((await send(1n, 9)).item.id).toBe(25n) // the sequence has no gap, and the key can be used
    },
  )

  test('is not stored when the pet is deleted meanwhile', async ({ service }) => {
    const { pool } = service.database
    const { create } = storeOf(service)
    const clientId = await clientIdOf(service)
    for (const once of [undefined, { clientId, key: 'k' }]) {
      await withClient(async (client) => {
        await client.query('BEGIN; DELETE FROM animal')
        const rejected = expect(create({ petId: 1n, quantity: 1 }, once)).rejects.toMatchObject({ code: 'INTERNAL' })
        await waitUntil(async () => (await countBlocked(client)) === 1)
        await client.query('COMMIT')
        await rejected
      }, service.databaseUrl)
      await pool.query("INSERT INTO animal (id, name, category_id) VALUES (1, 'Tom', 1)")
    }
    expect((await pool.query('SELECT id FROM "order" UNION SELECT row_id FROM idempotency_key')).rows).toEqual([])
  })
})

test('a reference is looked up by primary key, also before PostgreSQL has statistics of the table', async ({
  service,
}) => {
  const { pool } = service.database
  await pool.query(`
    ALTER TABLE animal SET (autovacuum_enabled = false);
    INSERT INTO animal (name, category_id) SELECT 'x', 1 FROM generate_series(1, 20000)`)
  const sent = recordStatements(service)
  const { create } = storeOf(service)
  const clientId = await clientIdOf(service)
  for (const once of [undefined, { clientId, key: 'k' }]) await create({ petId: 1n, quantity: 1 }, once)
  const inserts = sent.filter(({ text }) => text.includes('INSERT'))
  expect(inserts).toHaveLength(2)
  for (const { text, values } of inserts) {
    const { rows } = await pool.query(`EXPLAIN ${text}`, values)
    const plan = rows.map((row) => row['QUERY PLAN']).join('\n')
    expect(plan).toContain('Index Only Scan using animal_pkey on animal')
    expect(plan).not.toContain('Seq Scan')
  }
})
