import { Socket } from 'node:net'
import { expect, onTestFinished, vi } from 'vitest'
import { creations } from '../support/creations.ts'
import { databaseOf, startService, type TestService, testWithService as test, withClient } from '../support/harness.ts'
import { startOwnServer } from '../support/own-server.ts'
import { waitUntil } from '../support/timeouts.ts'

const sql = ({ database }: TestService, text: string) => database.pool.query(text)

test('a statement that PostgreSQL rolled back because of others is executed once more [W12]', async ({ service }) => {
  for (const state of ['40001', '40P01']) {
    // A sequence counts rolled-back attempts, too: every other one fails.
    await sql(
      service,
      `CREATE SEQUENCE IF NOT EXISTS attempt;
       CREATE OR REPLACE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
         IF nextval('attempt') % 2 = 1 THEN RAISE EXCEPTION 'test' USING ERRCODE = '${state}'; END IF;
         RETURN NULL;
       END $$;
       CREATE OR REPLACE TRIGGER fail BEFORE INSERT ON animal EXECUTE FUNCTION fail()`, // for each statement
    )
    for (const [title, create] of Object.entries(creations))
      expect(await create(service, state), `${title}, ${state}`).toHaveProperty('id')
  }
  const { rows } = await sql(service, 'SELECT count(*)::int FROM animal')
  expect(rows).toEqual([{ count: 8 }])
})

test('a commit whose wait for the synchronous standby is cancelled is 504 in both APIs, because a failover may lose it, and so is its retry [W14]', async () => {
  const settings = ['synchronous_standby_names=missing', 'synchronous_commit=off']
  const server = await startOwnServer({ settings })
  const service = await startService(server.url)
  await sql(service, 'ALTER DATABASE postgres SET synchronous_commit = on')
  await sql(service, 'ALTER DATABASE postgres SET client_min_messages = error')
  const peer = await service.startPeer()
  onTestFinished(server.stop) // before the peer, which would wait for the standby once more
  async function cancelWait<T>(commit: Promise<T>): Promise<T> {
    const cancel = "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
    await waitUntil(async () => (await sql(service, cancel)).rowCount)
    return commit
  }
  const creates = Object.values(creations)
  for (const create of [...creates, ...creates])
    expect(await cancelWait(create(peer, 'Rex'))).toMatchObject({ status: 504 })
  const { rows } = await sql(service, 'SELECT count(*)::int FROM animal')
  expect(rows).toEqual([{ count: 6 }])
  // As a background job, which does not look at the warning. It is not of the next statement of the connection.
  await cancelWait(sql(peer, "SELECT pg_logical_emit_message(true, 'test', 'test')"))
  expect((await peer.send('/v1/pets')).status).toBe(200)
})

test('a read-only database is not ready, and its writes are 503, until it accepts writes', async ({ service }) => {
  const database = databaseOf(service)
  await sql(service, `ALTER DATABASE ${database} SET default_transaction_read_only = on`)
  const peer = await service.startPeer()
  const ready = await fetch(`${peer.base}/readyz`)
  const message = 'The database is read-only: it is a standby, or default_transaction_read_only is on.'
  expect([ready.status, await ready.json()]).toEqual([503, { code: 'UNAVAILABLE', message, status: 503 }])
  for (const [title, create] of Object.entries(creations))
    expect(await create(peer, 'Rex'), title).toMatchObject({ status: 503 })
  await withClient(async (client) => {
    await client.query(`ALTER DATABASE ${database} RESET default_transaction_read_only`)
    await client.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${database}'`)
  })
  await waitUntil(() => peer.database.pool.totalCount === 0) // no connection of before is left
  await waitUntil(async () => (await fetch(`${peer.base}/readyz`)).status === 200)
  await peer.create()
})

test('every connection to PostgreSQL is probed by TCP after 10 idle seconds', async ({ service }) => {
  const probe = vi.spyOn(Socket.prototype, 'setKeepAlive')
  const peer = await service.startPeer()
  expect((await peer.send('/v1/pets')).status).toBe(200)
  const port = Number(new URL(service.databaseUrl).port)
  const sockets = probe.mock.contexts as Socket[] // it is a method of Socket
  const calls = probe.mock.calls.filter((_, n) => sockets[n]?.remotePort === port)
  expect(calls.length).toBeGreaterThan(0)
  for (const call of calls) expect(call).toEqual([true, 10_000])
  probe.mockRestore()
})
