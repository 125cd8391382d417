import pg from 'pg'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { startTcpProxy } from '../chaos/tcp-proxy.ts'
import { toCursor } from '../../src/pets/animal.ts'
import { createPool, type Pool } from '../../src/database/pool.ts'
import { createReplicas, type Replicas } from '../../src/database/replicas.ts'
import { createStatements } from '../../src/database/statements.ts'
import { limitsOf } from '../../src/limits.ts'
import { startService } from '../support/harness.ts'
import { type Replication, startReplication } from '../support/standby.ts'
import { stopClock, waitUntil } from '../support/timeouts.ts'

const LONG_MS = 1_000_000
const timeouts = limitsOf({ HANDLER_TIMEOUT_MS: LONG_MS })

let replication: Replication
beforeAll(async () => void (replication = await startReplication()))
afterAll(() => replication.stop())

function openPool(url: string, size = 4): Pool {
  const pool = createPool({ url, size, timeouts })
  onTestFinished(() => void pool.end()) // which waits for statements that hang
  return pool
}

/** Replicas with one standby. @returns also the reasons why the primary had to read */
function createTestReplicas(primaryUrl = replication.primaryUrl): { replicas: Replicas; reasons: string[] } {
  const reasons: string[] = []
  const server = { pool: openPool(replication.standby.url), host: 'standby' }
  const replicas = createReplicas([server], createStatements(openPool(primaryUrl, 1)).run, (event) => {
    reasons.push(event.type === 'replica-excluded' ? `excluded: ${event.replica.reason}` : event.reason)
  })
  return { replicas, reasons }
}

const SELECT = { text: 'SELECT n::int FROM unnest($1::int[]) AS n', onReplicas: true }
const statement = { ...SELECT, toValues: (n: number[]) => [n], toOutputs: (rows: { n: number }[]) => rows }

const untilRead = (replicas: Replicas, read: (client: pg.PoolClient) => Promise<object>) =>
  waitUntil(() => replicas.tryRead(read))

test('a replica that fails is excluded for longer each time, until it has executed a read', async () => {
  const { replicas } = createTestReplicas()
  const clock = stopClock()
  async function failOnce(): Promise<void> {
    while (replicas.isAvailable()) await replicas.tryRead(() => Promise.reject(new Error('failed')))
  }
  async function expectBackoff(ms: number): Promise<void> {
    await failOnce()
    clock.advance(ms - 1)
    expect(replicas.isAvailable()).toBe(false)
    clock.advance(1)
    expect(replicas.isAvailable()).toBe(true)
  }
  for (const ms of [20, 40, 80, 160, 320, 640, 1_000, 1_000]) await expectBackoff(ms)
  while (!(await replicas.tryRead((client) => client.query('SELECT 1')))) clock.advance(1_000)
  await expectBackoff(20)
})

test('a recovery conflict leaves the read to the primary', async () => {
  await replication.standby.query('ALTER SYSTEM SET max_standby_streaming_delay = 0')
  await replication.standby.query('SELECT pg_reload_conf()')
  const { replicas } = createTestReplicas()
  let error: Promise<unknown> | undefined
  async function readUntilCancelled(client: pg.PoolClient): Promise<object> {
    const reading = client.query('SELECT pg_sleep(1000) FROM (SELECT count(*) FROM animal) AS counted')
    reading.catch(() => {}) // is awaited below
    const sleeping = "SELECT FROM pg_stat_activity WHERE wait_event = 'PgSleep'"
    await waitUntil(async () => (await replication.standby.query(sleeping)).rowCount)
    await replication.onPrimary('BEGIN; LOCK TABLE animal; COMMIT')
    return reading
  }
  await waitUntil(async () => {
    const result = await replicas.tryRead((client) => {
      const read = readUntilCancelled(client)
      error = read.catch((reason: unknown) => reason)
      return read
    })
    expect(result).toBe(undefined)
    return error
  })
  expect(await error).toMatchObject({ code: '40001' })
})

test('a primary that does not report its position excludes no replica', async () => {
  const proxy = await startTcpProxy(replication.primaryUrl)
  onTestFinished(() => proxy.down())
  const { replicas, reasons } = createTestReplicas(proxy.url)
  await untilRead(replicas, (client) => client.query('SELECT 1'))
  proxy.hold('responses')
  await waitUntil(() => replicas.isAvailable())
  expect(await replicas.tryRead((client) => client.query('SELECT 1'))).toBe(undefined)
  expect(reasons.at(-1)).toBe('the primary did not report its WAL position within 50 ms')
  expect(replicas.isAvailable()).toBe(true)
  proxy.cut('rst')
  proxy.restore()
  await untilRead(replicas, (client) => client.query('SELECT 1'))
})

/** A service whose replica is behind a proxy, and a function that reads 40 pages at once. @returns both, in use */
async function startBehindProxy(ms: number) {
  const proxy = await startTcpProxy(replication.standby.url)
  onTestFinished(() => proxy.down())
  const service = await startService(replication.primaryUrl, {
    DATABASE_REPLICA_URLS: [proxy.url],
    limits: { queryTimeoutMs: ms, checkoutTimeoutMs: ms },
  })
  const paths = Array.from({ length: 40 }, (_, n) => `/v1/pets?cursor=${toCursor(BigInt(n + 1))}`)
  const readAll = () => Promise.all(paths.map(async (path) => (await service.send(path)).status))
  await waitUntil(async () => (await readAll()) && proxy.connections > 0)
  return { proxy, readAll, service }
}

test('reads succeed while the network holds what a replica sends', async () => {
  const { proxy, readAll } = await startBehindProxy(LONG_MS)
  for (let round = 0; round < 5; round++) {
    const reading = readAll()
    proxy.hold('responses')
    expect(new Set(await reading)).toEqual(new Set([200]))
    proxy.restore()
    await readAll()
  }
})

test('a service stops while a replica does not respond', async () => {
  const { proxy, readAll, service } = await startBehindProxy(2_000)
  proxy.hold('responses')
  await sleep(1_000) // so that the replica is tried again
  await readAll()
  await service.stop(0, 0)
})

test('reads that neither a replica nor the primary can execute all fail as not executed', async () => {
  const pool = openPool('postgresql://127.0.0.1:1/nothing')
  const read = createStatements(pool, { isAvailable: () => true, tryRead: async () => undefined }).batch(statement)
  const results = await Promise.allSettled(Array.from({ length: 30 }, (_, n) => read(n)))
  for (const result of results) expect(result).toMatchObject({ reason: { code: 'NOT_CONNECTED' } })
})
