import { describe, expect, onTestFinished, test as base } from 'vitest'
import { startService, type TestService } from '../support/harness.ts'
import { inDatabase } from '../support/postgres.ts'
import { type Replication, startReplication } from '../support/standby.ts'
import { recordStatements, type Statement } from '../support/statements.ts'
import { waitUntil } from '../support/timeouts.ts'

const test = base.extend<{ replication: Replication }>({
  replication: async ({}, use) => {
    const replication = await startReplication()
    onTestFinished(() => replication.stop())
    await use(replication)
  },
})

/** Starts an instance that reads from the standby, too. */
const start = ({ primaryUrl, standby }: Replication) =>
  startService(primaryUrl, { DATABASE_REPLICA_URLS: [standby.url] })

/** The ids of a page, newest first, or the status if it is not 200. */
async function pageOf(service: TestService): Promise<number[] | number> {
  const response = await service.send('/v1/pets')
  return response.ok ? ((await response.json()) as { id: number }[]).map(({ id }) => id) : response.status
}

const readsOf = (statements: Statement[]) => statements.filter(({ text }) => /^\s*SELECT[^]*"animal"/.test(text)).length

/** Counts connections of a server that have executed a read last. */
const COUNT_READS = `SELECT count(*)::int FROM pg_stat_activity
  WHERE query LIKE '%FROM "public"."animal"%' AND pid <> pg_backend_pid()`

async function untilTheStandbyReads(service: TestService, { standby }: Replication): Promise<void> {
  await inDatabase(standby.url, async (client) => {
    const { rows } = await client.query('SELECT now()::text AS start')
    const count = `${COUNT_READS} AND query_start > '${rows[0].start}'`
    await waitUntil(async () => {
      expect(await pageOf(service)).toBeInstanceOf(Array)
      return (await client.query(count)).rows[0].count > 0
    })
  })
}

describe('reads of animals', () => {
  test('are executed by the standby, writes and reads beside a liveCursor by the primary; they succeed when the standby dies, and when it is back it executes them', async ({
    replication,
  }) => {
    const service = await start(replication)
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
    const before = readsOf(onPrimary)
    for (let n = 0; n < 5; n++) await service.graphql('{ pets { liveCursor nodes { id } } }')
    expect(readsOf(onPrimary) - before).toBe(5)
    const killed = replication.standby.crash()
    for (let round = 0; round < 100; round++) expect(await pageOf(service)).toEqual([id])
    await killed
    expect(await pageOf(service)).toEqual([id])
    await replication.standby.start()
    await untilTheStandbyReads(service, replication)
  })

  test('have what another instance acknowledged before the standby replays it', async ({ replication }) => {
    const [service, other] = [await start(replication), await start(replication)]
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

  test('are executed by the primary when the standby was promoted', async ({ replication }) => {
    const service = await start(replication)
    await untilTheStandbyReads(service, replication)
    await replication.standby.query('SELECT pg_promote()')
    await replication.standby.query(
      "INSERT INTO animal (id, name, category_id) VALUES (1000000, 'of another history', 1)",
    )
    for (let round = 0; round < 5; round++) expect(await pageOf(service)).toEqual([])
    const id = await service.create()
    for (let round = 0; round < 5; round++) expect(await pageOf(service)).toEqual([id])
  })

  test('are executed by the primary if its commits are not on its disk', async ({ replication }) => {
    await replication.onPrimary('ALTER SYSTEM SET synchronous_commit = off')
    await replication.onPrimary('SELECT pg_reload_conf()')
    const service = await start(replication)
    const isLogged = () => service.log.lines.some(({ reason }) => reason === 'synchronous_commit is off on the primary')
    await waitUntil(async () => (await pageOf(service)) && isLogged())
    const { rows } = await replication.standby.query(COUNT_READS)
    expect(rows).toEqual([{ count: 0 }])
  })
})
