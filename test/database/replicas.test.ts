import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test as base } from 'vitest'
import { startService, type TestService, type TestServiceOptions } from '../support/harness.ts'
import { type Replication, startReplication } from '../support/standby.ts'
import { recordStatements, type Statement } from '../support/statements.ts'
import { waitUntil } from '../support/timeouts.ts'

interface Fixtures {
  replication: Replication
  /** Starts an instance that reads from the standby, too. */
  start(options?: TestServiceOptions): Promise<TestService>
}

const test = base.extend<Fixtures>({
  // oxlint-disable-next-line no-empty-pattern
  replication: async ({}, use) => {
    const replication = await startReplication()
    await use(replication).finally(() => replication.stop())
  },
  start: async ({ replication }, use) => {
    const stops: (() => Promise<void>)[] = []
    const DATABASE_REPLICA_URLS = [replication.standbyUrl]
    await use((options) => startService(replication.primaryUrl, stops, { DATABASE_REPLICA_URLS, ...options }))
    await Promise.all(stops.map((stop) => stop()))
  },
})

async function create(service: TestService, name: string): Promise<number> {
  const response = await service.post({ name, categoryId: 1 })
  expect(response.status).toBe(201)
  return ((await response.json()) as { id: number }).id
}

/** Reads many different animals at once, which makes the service busy. @returns the statuses */
const readMany = (service: TestService, first = 1) =>
  Promise.all(Array.from({ length: 40 }, async (_, n) => (await service.send(`/v1/pets/${first + n}`)).status))

const readsOf = (statements: Statement[]) => statements.filter(({ text }) => /^\s*SELECT[^]*"animal"/.test(text)).length

/** Counts connections of a server that have executed a read last. */
const COUNT_READS = `SELECT count(*)::int FROM pg_stat_activity
  WHERE query LIKE '%FROM "public"."animal"%' AND pid <> pg_backend_pid()`

/** Reads until the standby has executed a read. */
async function untilTheStandbyReads(service: TestService, { onStandby }: Replication): Promise<void> {
  const { rows } = await onStandby('SELECT now()::text AS start')
  const count = `${COUNT_READS} AND query_start > '${rows[0].start}'`
  await waitUntil(async () => {
    await readMany(service)
    return (await onStandby(count)).rows[0].count > 0
  })
}

describe('reads of a busy service', () => {
  test('are executed by the standby; a read alone, and every write, by the primary', async ({ replication, start }) => {
    const service = await start()
    const id = await create(service, 'Rex')
    const onPrimary = recordStatements(service)
    await untilTheStandbyReads(service, replication)
    const before = readsOf(onPrimary)
    expect((await service.send(`/v1/pets/${id}`)).status).toBe(200)
    expect(readsOf(onPrimary)).toBe(before + 1)
  })

  test('have every animal that any instance acknowledged before, while the standby pauses', async ({
    replication,
    start,
  }) => {
    const [one, two] = [await start(), await start()]
    const finished = new AbortController()
    const pauses = (async () => {
      while (!finished.signal.aborted) {
        await replication.onStandby('SELECT pg_wal_replay_pause()')
        await sleep(30)
        await replication.onStandby('SELECT pg_wal_replay_resume()')
        await sleep(200)
      }
    })()
    for (let round = 0; round < 20; round++) {
      const ids = await Promise.all(Array.from({ length: 10 }, (_, n) => create(one, `${round} ${n}`)))
      const statuses = await Promise.all(ids.map(async (id) => (await two.send(`/v1/pets/${id}`)).status))
      expect(statuses).toEqual(ids.map(() => 200))
      const newest = (await (await two.send('/v1/pets?limit=10')).json()) as { id: number }[]
      expect(newest.map(({ id }) => id).sort()).toEqual([...ids].sort())
    }
    finished.abort()
    await pauses
    await untilTheStandbyReads(two, replication)
  })

  test('are executed by the primary while the standby does not replay, and by the standby again when it does', async ({
    replication,
    start,
  }) => {
    const service = await start()
    const onPrimary = recordStatements(service)
    await untilTheStandbyReads(service, replication)
    await replication.onStandby('SELECT pg_wal_replay_pause()')
    const id = await create(service, 'Rex')
    const before = readsOf(onPrimary)
    expect((await readMany(service, id))[0]).toBe(200)
    expect(readsOf(onPrimary)).toBeGreaterThan(before)
    await service.log.line({ msg: 'replica left out for up to a second, reading from the primary' })
    await replication.onStandby('SELECT pg_wal_replay_resume()')
    await untilTheStandbyReads(service, replication)
    expect((await readMany(service, id))[0]).toBe(200)
  })

  test('succeed when the standby dies, and when it is back it executes them', async ({ replication, start }) => {
    const service = await start()
    const id = await create(service, 'Rex')
    await untilTheStandbyReads(service, replication)
    const reading = (async () => {
      const statuses: number[] = []
      for (let round = 0; round < 10; round++) statuses.push((await readMany(service, id))[0] ?? 0)
      return statuses
    })()
    await replication.killStandby()
    expect(new Set(await reading)).toEqual(new Set([200]))
    await replication.startStandby()
    await untilTheStandbyReads(service, replication)
  })

  test('are executed by the primary when the standby was promoted', async ({ replication, start }) => {
    const service = await start()
    await untilTheStandbyReads(service, replication)
    await replication.onStandby('SELECT pg_promote()')
    await replication.onStandby("INSERT INTO animal (id, name, category_id) VALUES (1000000, 'of another history', 1)")
    for (let round = 0; round < 5; round++) expect((await readMany(service, 1_000_000))[0]).toBe(404)
    const id = await create(service, 'Rex')
    for (let round = 0; round < 5; round++) expect((await readMany(service, id))[0]).toBe(200)
  })

  test('are executed by the primary if it acknowledges commits that are not on its disk', async ({
    replication,
    start,
  }) => {
    await replication.onPrimary('ALTER SYSTEM SET synchronous_commit = off')
    await replication.onPrimary('SELECT pg_reload_conf()')
    const service = await start()
    const line = service.log.line({ reason: 'synchronous_commit is off on the primary' })
    let logged = false
    void line.then(() => (logged = true))
    await waitUntil(async () => (await readMany(service)) && logged)
    const { rows } = await replication.onStandby(COUNT_READS)
    expect(rows).toEqual([{ count: 0 }])
  })
})
