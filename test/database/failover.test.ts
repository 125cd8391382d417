import { Socket } from 'node:net'
import { expect, onTestFinished, vi } from 'vitest'
import { creations } from '../support/creations.ts'
import { databaseOf, type TestService, testWithService as test, withClient } from '../support/harness.ts'
import { givenUrl } from '../support/postgres.ts'
import { waitUntil } from '../support/timeouts.ts'

/** Writes only to the write-ahead log. */
const COMMIT_A_MESSAGE = "SELECT pg_logical_emit_message(true, 'test', 'test')"

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

test('a commit whose wait for the synchronous standby is cancelled is 504 in both APIs, because a failover may lose it, and so is its retry; the next one succeeds [W14]', async ({
  service,
  skip,
}) => {
  skip(givenUrl !== undefined, 'it changes the settings of the server')
  // Other tests do not wait for the standby, which does not exist: the server's default is synchronous_commit = off.
  await sql(service, `ALTER DATABASE ${databaseOf(service)} SET synchronous_commit = on`)
  await sql(service, `ALTER DATABASE ${databaseOf(service)} SET client_min_messages = error`)
  const peer = await service.startPeer()
  const setStandby = async (name: string) => {
    await withClient(async (client) => {
      await client.query(`ALTER SYSTEM SET synchronous_standby_names = '${name}'`)
      await client.query('SELECT pg_reload_conf()')
    })
  }
  onTestFinished(() => setStandby(''))
  await setStandby('missing')
  const cancel = `SELECT pg_cancel_backend(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND wait_event = 'SyncRep'`
  /** Cancels the wait of a commit. @returns its result, and whether it has waited */
  async function cancelWait<T>(commit: Promise<T>) {
    let isOver = false
    const ended = commit.finally(() => (isOver = true))
    const hasWaited = (await waitUntil(async () => (await sql(service, cancel)).rowCount || isOver)) !== true
    return { result: await ended, hasWaited }
  }
  const commit = () => withClient((client) => client.query(COMMIT_A_MESSAGE), service.databaseUrl)
  await waitUntil(async () => (await cancelWait(commit())).hasWaited) // the server reloads a moment later
  const outcomes: object[] = []
  const creates = Object.values(creations)
  for (const create of [...creates, ...creates]) outcomes.push((await cancelWait(create(peer, 'Rex'))).result)
  const reused = await cancelWait(peer.post({ name: 'Max', categoryId: 1 }, { 'Idempotency-Key': 'Rex' }))
  await cancelWait(peer.database.prisma.$executeRawUnsafe(COMMIT_A_MESSAGE)) // as a background job
  const afterJob = await peer.send('/v1/pets') // on its connection
  await setStandby('') // before an expectation that may fail, because what ends the test commits
  expect(afterJob.status).toBe(200)
  expect([reused.hasWaited, reused.result.status]).toEqual([false, 422]) // it has no commit to wait for
  expect(outcomes).toMatchObject(outcomes.map(() => ({ status: 504 })))
  await peer.create()
  const { rows } = await sql(service, 'SELECT count(*)::int FROM animal')
  expect(rows).toEqual([{ count: 7 }])
})

test('a read-only database is not ready, and its writes are 503, until it accepts writes', async ({ service }) => {
  const database = databaseOf(service)
  await sql(service, `ALTER DATABASE ${database} SET default_transaction_read_only = on`)
  const peer = await service.startPeer()
  const ready = await fetch(`${peer.base}/readyz`)
  const message = 'The database is read-only: DATABASE_URL must lead to the primary.'
  expect([ready.status, await ready.json()]).toEqual([503, { code: 'UNAVAILABLE', message, status: 503 }])
  for (const [title, create] of Object.entries(creations))
    expect(await create(peer, 'Rex'), title).toMatchObject({ status: 503 })
  await peer.log.line({ msg: 'database unavailable', reason: message })

  await withClient(async (client) => {
    await client.query(`ALTER DATABASE ${database} RESET default_transaction_read_only`)
    await client.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${database}'`)
  })
  await waitUntil(() => peer.database.pool.totalCount === 0) // no connection of before is left
  await waitUntil(async () => (await fetch(`${peer.base}/readyz`)).status === 200)
  await peer.log.line({ msg: 'database available again' })
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
