import { expect, onTestFinished, test } from 'vitest'
import { startService, type TestService } from '../support/harness.ts'
import { inDatabase } from '../support/postgres.ts'
import { connectionInfo, startReplication } from '../support/standby.ts'
import { waitUntil } from '../support/timeouts.ts'

const animals = (count: number, name: string) =>
  `INSERT INTO animal (name, category_id) SELECT '${name}', 1 FROM generate_series(1, ${count})`

/** Waits until a standby has this number of animals. */
const untilReplayed = ({ url }: { url: string }, animals: number) =>
  inDatabase(url, (client) =>
    waitUntil(async () => (await client.query('SELECT count(*)::int FROM animal')).rows[0].count === animals),
  )

/** The names of the newest animals. */
async function namesOf(service: TestService): Promise<Set<string>> {
  const animals = (await (await service.send('/v1/pets?limit=50')).json()) as { name: string }[]
  return new Set(animals.map(({ name }) => name))
}

/** Reads until the log says why a replica was excluded. Expects only animals of the primary. */
async function expectExcluded(service: TestService, reason: string): Promise<void> {
  await waitUntil(async () => {
    expect(await namesOf(service)).toEqual(new Set(['right']))
    return service.log.lines.some((line) => line.reason === reason)
  })
}

test('a standby of another server, or another database, is excluded, though it is ahead', async () => {
  const [one, other] = await Promise.all([startReplication(), startReplication({ initialise: true })])
  onTestFinished(async () => void (await Promise.all([one.stop(), other.stop()])))
  await one.onPrimary(animals(50, 'right'))
  await other.onPrimary(animals(10_000, 'of another server'))
  await untilReplayed(other.standby, 10_000)
  const service = await startService(one.primaryUrl, { DATABASE_REPLICA_URLS: [other.standby.url] })
  await expectExcluded(service, 'it is a standby of another server')
  const elsewhere = new URL(one.standby.url)
  elsewhere.pathname = '/template1'
  const second = await startService(one.primaryUrl, { DATABASE_REPLICA_URLS: [elsewhere.href] })
  await expectExcluded(second, 'its URL names another database')
})

test('a standby that is ahead of a primary which was put back to a snapshot, or is a copy, is excluded', async () => {
  const replication = await startReplication()
  onTestFinished(() => replication.stop())
  const snapshot = await replication.addStandby()
  await snapshot.separate()
  await replication.onPrimary(animals(10_000, 'of another history'))
  const { standby } = replication
  await untilReplayed(standby, 10_000)
  await snapshot.query(animals(50, 'right'))
  const service = await startService(snapshot.url, { DATABASE_REPLICA_URLS: [standby.url] })
  await expectExcluded(service, 'it is ahead of the primary, so it has another history')
})

test('after a failover, a standby that follows the new primary executes reads, and one of the old primary does not', async () => {
  const replication = await startReplication()
  onTestFinished(() => replication.stop())
  const [follower, stray] = [await replication.addStandby(), await replication.addStandby()]
  await replication.standby.query('SELECT pg_promote()')
  const newPrimary = replication.standby
  await follower.query(`ALTER SYSTEM SET primary_conninfo = '${connectionInfo(newPrimary.url)}'`)
  await follower.query('SELECT pg_reload_conf()')
  await replication.onPrimary(animals(10_000, 'of the old primary'))
  await untilReplayed(stray, 10_000)
  await newPrimary.query(animals(50, 'right'))
  const strayed = await startService(newPrimary.url, { DATABASE_REPLICA_URLS: [stray.url] })
  await expectExcluded(strayed, 'it is on timeline 1, the primary on 2')
  const service = await startService(newPrimary.url, { DATABASE_REPLICA_URLS: [follower.url] })
  await inDatabase(follower.url, (client) =>
    waitUntil(async () => {
      expect(await namesOf(service)).toEqual(new Set(['right']))
      const { rows } = await client.query(`SELECT count(*)::int FROM pg_stat_activity
        WHERE query LIKE '%FROM "public"."animal"%' AND pid <> pg_backend_pid()`)
      return rows[0].count > 0
    }),
  )
})
