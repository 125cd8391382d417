import type pg from 'pg'
import { expect } from 'vitest'
import { createGapReader } from '../../src/feed/gap-reader.ts'
import { RecentItems } from '../../src/feed/recent.ts'
import { createStore } from '../../src/store/store.ts'
import { createStatements } from '../../src/database/statements.ts'
import type { TestService } from '../support/harness.ts'
import { interceptStatements } from '../support/statements.ts'
import { clientIdOf, testWithOrders as test } from './fixture.ts'
import { orders } from './orders.ts'

function storeOf({ database: { statements, runCount } }: TestService) {
  return createStore(orders, statements, runCount)
}

/** All orders as the feed reads them. */
async function readFeed({ database: { pool } }: TestService) {
  const recent = new RecentItems<typeof orders>(0n)
  await createGapReader(orders, createStatements(pool).run).read(recent)
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

test('a time that clients send is returned as it is stored', async ({ service }) => {
  const input = orders.input.extend({ createdAt: orders.item.shape.createdAt })
  const { statements, runCount } = service.database
  const { create } = createStore({ ...orders, input }, statements, runCount)
  const order = { petId: 1n, quantity: 1, createdAt: '2026-11-25T12:00:00Z' }
  const stored = { createdAt: '2026-11-25T12:00:00.000Z', status: 'placed' }
  expect((await create(order)).item).toMatchObject(stored)
  expect((await create(order, { clientId: await clientIdOf(service), key: 'k' })).item).toMatchObject(stored)
})
