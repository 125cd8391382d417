import type pg from 'pg'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { createPool, type Pool } from '../../src/database/pool.ts'
import { createReplicas, type ReplicaObservation } from '../../src/database/replicas.ts'
import { createStatements } from '../../src/database/statements.ts'
import { limitsOf } from '../../src/config/limits.ts'
import { startTcpProxy } from '../chaos/tcp-proxy.ts'
import { cloneDatabase, dropDatabase, startService, type TestService } from '../support/harness.ts'
import { inDatabase, query } from '../support/postgres.ts'
import { connectionInfo, type Replication, startReplication } from '../support/standby.ts'
import { recordStatements, type Statement } from '../support/statements.ts'
import { stopClock, waitUntil } from '../support/timeouts.ts'

/** For all tests that leave the primary a primary and the standby a standby. */
let shared: Replication
beforeAll(async () => void (shared = await startReplication({ initialise: true })))
afterAll(() => shared.stop())

const start = (primaryUrl: string, replicaUrl: string, limits = {}) =>
  startService(primaryUrl, { DATABASE_REPLICA_URLS: [replicaUrl], limits })

/** A proxy in front of a server, which is stopped after the test. */
async function startProxy(url: string) {
  const proxy = await startTcpProxy(url)
  onTestFinished(() => proxy.down())
  return proxy
}

/** The names of the newest animals, newest first. */
async function namesOf(service: TestService): Promise<string[]> {
  const response = await service.send('/v1/pets?limit=50')
  expect(response.status).toBe(200)
  return ((await response.json()) as { name: string }[]).map(({ name }) => name)
}

const readsOf = (statements: Statement[]) => statements.filter(({ text }) => /^\s*SELECT[^]*"animal"/.test(text)).length

/** Reads until a connection of a standby has executed a read. */
async function untilItReads(standby: { url: string }, read: () => Promise<unknown>): Promise<void> {
  await inDatabase(standby.url, async (client) => {
    const { rows } = await client.query('SELECT now()::text AS start')
    await waitUntil(async () => {
      await read()
      const { rowCount } = await client.query(`SELECT FROM pg_stat_activity WHERE query_start > '${rows[0].start}'
        AND query LIKE '%FROM "public"."animal"%' AND pid <> pg_backend_pid()`)
      return rowCount
    })
  })
}

describe('reads of animals', () => {
  test('are executed by the standby, writes and reads beside a liveCursor by the primary; they succeed when the standby dies, and when it is back it executes them', async () => {
    const { primaryUrl, standby } = shared
    const service = await start(primaryUrl, standby.url)
    const onPrimary = recordStatements(service)
    const id = await service.create()
    const list = async () => expect(await namesOf(service)).toContain('Rex')
    await untilItReads(standby, list)
    await untilItReads(standby, async () => expect((await service.send(`/v1/pets/${id}`)).status).toBe(200))
    const before = readsOf(onPrimary)
    for (let n = 0; n < 5; n++) await service.graphql('{ pets { liveCursor nodes { id } } }')
    expect(readsOf(onPrimary) - before).toBe(5)
    const killed = standby.crash()
    for (let round = 0; round < 100; round++) await list()
    await killed
    await list()
    await standby.start()
    await untilItReads(standby, list)
  })

  test('have what another instance acknowledged before the standby replays it', async () => {
    const { primaryUrl, standby } = shared
    const [service, other] = [await start(primaryUrl, standby.url), await start(primaryUrl, standby.url)]
    await untilItReads(standby, () => namesOf(service))
    await standby.query('SELECT pg_wal_replay_pause()')
    await other.create({ name: 'acknowledged' })
    expect(await namesOf(service)).toContain('acknowledged')
    await service.log.line({ msg: 'replica excluded for up to a second, reading from the primary' })
    await standby.query('SELECT pg_wal_replay_resume()')
    await untilItReads(standby, async () => expect(await namesOf(service)).toContain('acknowledged'))
  })

  test('succeed while the network holds what a replica sends', async () => {
    const proxy = await startProxy(shared.standby.url)
    const service = await start(shared.primaryUrl, proxy.url)
    await untilItReads(shared.standby, () => namesOf(service))
    const paths = Array.from({ length: 40 }, (_, n) => `/v1/pets?limit=${n + 1}`)
    for (let round = 0; round < 3; round++) {
      const reading = paths.map((path) => service.send(path))
      proxy.hold('responses')
      for (const { status } of await Promise.all(reading)) expect(status).toBe(200)
      proxy.restore()
      await Promise.all(paths.map((path) => service.send(path)))
    }
  })

  test('are 503 without the primary', async () => {
    const proxy = await startProxy(shared.primaryUrl)
    const service = await start(proxy.url, shared.standby.url)
    await untilItReads(shared.standby, () => namesOf(service))
    await proxy.down()
    const paths = Array.from({ length: 30 }, (_, n) => `/v1/pets/${n + 1}`)
    for (const { status } of await Promise.all(paths.map((path) => service.send(path)))) expect(status).toBe(503)
  })
})

describe('reads are executed by the primary, and the log has the reason', () => {
  /** Waits until the log has the reason, and expects that each read has the animals of the primary. */
  async function expectExcluded(primaryUrl: string, replicaUrl: string, reason: string): Promise<void> {
    const { rows } = await query(primaryUrl, 'SELECT name FROM animal ORDER BY id DESC LIMIT 50')
    const service = await start(primaryUrl, replicaUrl)
    await waitUntil(async () => {
      expect(await namesOf(service)).toEqual(rows.map(({ name }) => name))
      return service.log.lines.some((line) => line.reason === reason)
    })
  }

  /** Adds animals, and waits until a standby has them. */
  async function addTo(primaryUrl: string, standby: { url: string }): Promise<void> {
    const add = "INSERT INTO animal (name, category_id) SELECT 'of another history', 1 FROM generate_series(1, 10000)"
    await query(primaryUrl, add)
    await inDatabase(standby.url, (client) =>
      waitUntil(async () => (await client.query('SELECT FROM animal OFFSET 9999')).rowCount),
    )
  }

  test('beside a standby of another server, with another database, or with synchronous_commit = off', async () => {
    const { primaryUrl, standby } = shared
    const elsewhere = await cloneDatabase()
    onTestFinished(() => dropDatabase(elsewhere))
    await expectExcluded(elsewhere, standby.url, 'it is a standby of another server')
    await expectExcluded(primaryUrl, standby.url.replace(/postgres$/, 'template1'), 'its URL names another database')
    const withoutSync = `${primaryUrl}?options=-c%20synchronous_commit%3Doff`
    await expectExcluded(withoutSync, standby.url, 'synchronous_commit is off on the primary')
  })

  test('beside a standby that is ahead of a primary which was put back to a snapshot, or is a copy', async () => {
    const snapshot = await shared.addStandby()
    await snapshot.separate()
    await addTo(shared.primaryUrl, shared.standby)
    await expectExcluded(snapshot.url, shared.standby.url, 'it is ahead of the primary, so it has another history')
  })

  test('beside a standby that was promoted, or follows the old primary; one that follows the new primary executes them', async () => {
    const old = await startReplication()
    onTestFinished(() => old.stop())
    const [follower, stray] = [await old.addStandby(), await old.addStandby()]
    await old.standby.query('SELECT pg_promote()')
    await follower.query(`ALTER SYSTEM SET primary_conninfo = '${connectionInfo(old.standby.url)}'`)
    await follower.query('SELECT pg_reload_conf()')
    await old.standby.query("INSERT INTO animal (name, category_id) VALUES ('of the new primary', 1)")
    await expectExcluded(old.primaryUrl, old.standby.url, 'it is not a standby')
    await addTo(old.primaryUrl, stray)
    await expectExcluded(old.standby.url, stray.url, 'it is on timeline 1, the primary on 2')
    const service = await start(old.standby.url, follower.url)
    await untilItReads(follower, async () => expect(await namesOf(service)).toEqual(['of the new primary']))
  })
})

test('a service stops while a replica does not respond', async () => {
  const proxy = await startProxy(shared.standby.url)
  const service = await start(shared.primaryUrl, proxy.url, { queryTimeoutMs: 2_000 })
  await untilItReads(shared.standby, () => namesOf(service))
  proxy.hold('responses')
  await sleep(1_000) // so that the replica is tried again
  await service.send('/v1/pets')
  await service.stop(0, 0)
})

/** Replicas with one standby. @returns also what they have observed */
function createTestReplicas(primaryUrl: string) {
  const timeouts = limitsOf({ HANDLER_TIMEOUT_MS: 1_000_000 })
  function openPool(url: string, size: number): Pool {
    const pool = createPool({ url, size, timeouts })
    onTestFinished(() => void pool.end()) // which waits for statements that hang
    return pool
  }
  const events: ReplicaObservation[] = []
  const server = { pool: openPool(shared.standby.url, 4), host: 'standby' }
  const { readRows } = createStatements(openPool(primaryUrl, 1))
  const replicas = createReplicas([server], readRows, (event) => void events.push(event))
  return { replicas, events }
}

const read = (client: pg.PoolClient) => client.query('SELECT 1')

test('a replica that fails is excluded for longer each time, until it has executed a read', async () => {
  const { replicas } = createTestReplicas(shared.primaryUrl)
  const clock = stopClock()
  async function expectBackoff(ms: number): Promise<void> {
    while (replicas.isAvailable()) await replicas.tryRead(() => Promise.reject(new Error('failed')))
    clock.advance(ms - 1)
    expect(replicas.isAvailable()).toBe(false)
    clock.advance(1)
    expect(replicas.isAvailable()).toBe(true)
  }
  for (const ms of [20, 40, 80, 160, 320, 640, 1_000, 1_000]) await expectBackoff(ms)
  while (!(await replicas.tryRead(read))) clock.advance(1_000)
  await expectBackoff(20)
})

test('a primary that does not report its position excludes no replica', async () => {
  const proxy = await startProxy(shared.primaryUrl)
  const { replicas, events } = createTestReplicas(proxy.url)
  await waitUntil(() => replicas.tryRead(read))
  proxy.hold('responses')
  await waitUntil(() => replicas.isAvailable())
  expect(await replicas.tryRead(read)).toBe(undefined)
  const reason = 'the primary did not report its WAL position within 50 ms'
  expect(events.at(-1)).toEqual({ type: 'replicas-bypassed', reason })
  expect(replicas.isAvailable()).toBe(true)
  proxy.cut('rst')
  proxy.restore()
  await waitUntil(() => replicas.tryRead(read))
})
