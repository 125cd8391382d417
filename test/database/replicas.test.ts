import { describe, expect, onTestFinished, test as base } from 'vitest'
import { startService, type TestService } from '../support/harness.ts'
import { type Replication, startReplication } from '../support/standby.ts'
import { recordStatements, type Statement } from '../support/statements.ts'
import { waitUntil } from '../support/timeouts.ts'

interface Fixtures {
  replication: Replication
  /** Starts an instance that reads from the standby, too. */
  start(): Promise<TestService>
}

const test = base.extend<Fixtures>({
  replication: async ({}, use) => {
    const replication = await startReplication()
    onTestFinished(() => replication.stop())
    await use(replication)
  },
  start: async ({ replication }, use) => {
    const DATABASE_REPLICA_URLS = [replication.standby.url]
    await use(() => startService(replication.primaryUrl, { DATABASE_REPLICA_URLS }))
  },
})

/** The ids of a page, newest first, or the status if it is not 200. */
async function pageOf(service: TestService): Promise<number[] | number> {
  const response = await service.send('/v1/pets')
  return response.ok ? ((await response.json()) as { id: number }[]).map(({ id }) => id) : response.status
}

const readsOf = (statements: Statement[]) => statements.filter(({ text }) => /^\s*SELECT[^]*"animal"/.test(text)).length

/** Counts connections of a server that have executed a read last. */
const COUNT_READS = `SELECT count(*)::int FROM pg_stat_activity
  WHERE query LIKE '%FROM "public"."animal"%' AND pid <> pg_backend_pid()`

/** Reads until the standby has executed a read. */
async function untilTheStandbyReads(service: TestService, { standby }: Replication): Promise<void> {
  const { rows } = await standby.query('SELECT now()::text AS start')
  const count = `${COUNT_READS} AND query_start > '${rows[0].start}'`
  await waitUntil(async () => {
    expect(await pageOf(service)).toBeInstanceOf(Array)
    return (await standby.query(count)).rows[0].count > 0
  })
}

describe('reads of animals', () => {
  test('are executed by the standby, writes by the primary', async ({ replication, start }) => {
    const service = await start()
    const onPrimary = recordStatements(service)
    const id = await service.create()
    await untilTheStandbyReads(service, replication)
    await waitUntil(async () => {
      const before = readsOf(onPrimary)
      expect((await service.send(`/v1/pets/${id}`)).status).toBe(200)
      return readsOf(onPrimary) === before // the primary reads what a busy standby does not in time
    })
    expect(
      (await replication.standby.query(`${COUNT_READS} AND query LIKE '%id = ANY%'`)).rows[0].count,
    ).toBeGreaterThan(0)
  })

  test('have what another instance acknowledged before the standby replays it', async ({ replication, start }) => {
    const [service, other] = [await start(), await start()]
    const onPrimary = recordStatements(service)
    await untilTheStandbyReads(service, replication)
    await replication.standby.query('SELECT pg_wal_replay_pause()')
    const id = await other.create()
    const before = readsOf(onPrimary)
    expect(await pageOf(service)).toEqual([id])
    expect(readsOf(onPrimary)).toBe(before + 1)
    await service.log.line({ msg: 'replica excluded for up to a second, reading from the primary' })
    await replication.standby.query('SELECT pg_wal_replay_resume()')
    await untilTheStandbyReads(service, replication)
    expect(await pageOf(service)).toEqual([id])
  })

  test('are executed by the primary beside a liveCursor', async ({ replication, start }) => {
    const service = await start()
    await untilTheStandbyReads(service, replication)
    const onPrimary = recordStatements(service)
    for (let n = 0; n < 5; n++) await service.graphql('{ pets { liveCursor nodes { id } } }')
    expect(readsOf(onPrimary)).toBe(5)
  })

  test('succeed when the standby dies, and when it is back it executes them', async ({ replication, start }) => {
    const service = await start()
    const id = await service.create()
    await untilTheStandbyReads(service, replication)
    const killed = replication.standby.crash()
    for (let round = 0; round < 100; round++) expect(await pageOf(service)).toEqual([id])
    await killed
    expect(await pageOf(service)).toEqual([id])
    await replication.standby.start()
    await untilTheStandbyReads(service, replication)
  })

  test('are executed by the primary when the standby was promoted', async ({ replication, start }) => {
    const service = await start()
    await untilTheStandbyReads(service, replication)
    await replication.standby.query('SELECT pg_promote()')
    await replication.standby.query(
      "INSERT INTO animal (id, name, category_id) VALUES (1000000, 'of another history', 1)",
    )
    for (let round = 0; round < 5; round++) expect(await pageOf(service)).toEqual([])
    const id = await service.create()
    for (let round = 0; round < 5; round++) expect(await pageOf(service)).toEqual([id])
  })

  test('are executed by the primary if its commits are not on its disk', async ({ replication, start }) => {
    await replication.onPrimary('ALTER SYSTEM SET synchronous_commit = off')
    await replication.onPrimary('SELECT pg_reload_conf()')
    const service = await start()
    const isLogged = () => service.log.lines.some(({ reason }) => reason === 'synchronous_commit is off on the primary')
    await waitUntil(async () => (await pageOf(service)) && isLogged())
    const { rows } = await replication.standby.query(COUNT_READS)
    expect(rows).toEqual([{ count: 0 }])
  })
})
