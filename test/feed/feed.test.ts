import { setMaxListeners } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { describe, expect, onTestFinished } from 'vitest'
import { type Animal, animals, type PetStatus } from '../../src/pets/animal.ts'
import { Feed } from '../../src/feed/feed.ts'
import { RECENT_SIZE } from '../../src/feed/recent.ts'
import type { Pool } from '../../src/database/pool.ts'
import { createStatements } from '../../src/database/statements.ts'
import { type TestService, testWithService } from '../support/harness.ts'
import { stopClock, waitUntil } from '../support/timeouts.ts'

/** Helpers whose feeds, followers and connections end with the test. */
function createTools({ database, databaseUrl }: TestService, ends: (() => unknown)[]) {
  return {
    /** @returns a feed, and the number of statements that it has sent */
    startFeed({
      query = (config: pg.QueryConfig) => database.pool.query(config),
      onError = (error: unknown): unknown => expect.unreachable(String(error)),
    } = {}) {
      const sent = { count: 0 }
      const client = { query: (config: pg.QueryConfig) => (sent.count++, query(config)) }
      const pool = { ...client, withConnection: (work: (one: typeof client) => unknown) => work(client) }
      const statements = createStatements(pool as unknown as Pool) // all that it uses of a pool
      const feed = new Feed(
        animals,
        { feedLoopStatements: statements, feedPageStatements: statements },
        { maxWaitMs: 100_000, observe: (event) => event.type === 'feed-failed' && onError(event.error) },
      )
      ends.push(() => feed.stop())
      return { feed, sent }
    },
    /** @returns the animals that the follower receives, which grow */
    follow(feed: Feed<typeof animals>, after: bigint, status?: PetStatus) {
      const controller = new AbortController()
      const animals: Animal[] = []
      const read = async () => {
        const follower = feed.follow(after, { status }, { clientId: 1n, signal: controller.signal })
        for (;;) {
          animals.push(...(await follower.next()))
          follower.position = animals.at(-1)?.id ?? after
        }
      }
      const done = read().catch(() => {}) // aborted
      ends.unshift(() => (controller.abort(), done))
      return { animals, stop: () => controller.abort() }
    },
    /** A connection of another program, on which a transaction may stay open. */
    async connect() {
      const client = new pg.Client({ connectionString: databaseUrl })
      client.on('error', () => {}) // it is terminated
      await client.connect()
      ends.push(() => client.end())
      return client
    },
  }
}

type FeedTools = ReturnType<typeof createTools>

const test = testWithService.extend<{ tools: FeedTools }>({
  tools: async ({ service }, use) => {
    const ends: (() => unknown)[] = []
    await use(createTools(service, ends))
    for (const end of ends) await end()
  },
})

const insert = (client: Pick<pg.Client, 'query'>, name: string) =>
  client.query("INSERT INTO animal (name, category_id, status) VALUES ($1, 1, 'sold')", [name])

const namesOf = (animals: Animal[]) => animals.map(({ name }) => name)

/** Starts a feed in which an open transaction of `client` holds back an animal of `admin`. */
async function startHeldBack({ startFeed, follow, connect }: FeedTools) {
  const { feed, sent } = startFeed()
  const { animals } = follow(feed, await feed.settledId())
  const [client, admin] = [await connect(), await connect()]
  await client.query('BEGIN; SAVEPOINT before')
  await insert(client, 'held')
  await insert(admin, 'later')
  await waitUntil(() => feed.reader.lagMs() > 0) // it knows for which transactions it waits
  return { feed, sent, animals, client, admin }
}

type HeldBack = Awaited<ReturnType<typeof startHeldBack>>

async function endPrepared({ client, admin, sent, animals }: HeldBack, end: 'COMMIT' | 'ROLLBACK'): Promise<void> {
  await client.query(`PREPARE TRANSACTION '${client.database}'`)
  const { count } = sent
  await waitUntil(() => sent.count > count + 6) // the feed reads the locks several times
  expect(animals).toEqual([])
  await admin.query(`${end} PREPARED '${client.database}'`)
}

test('probes share a check, and positions during open writes are at least theirs [F19]', async ({ service, tools }) => {
  const { feed, sent } = tools.startFeed()
  await feed.settledId()
  const id = await service.create()
  await Promise.all([feed.check(), feed.check(), feed.check()])
  expect(sent.count).toBe(3) // the first position; of the probes, the sequence and a settled id
  const client = await tools.connect()
  await client.query('BEGIN')
  await insert(client, 'held')
  expect(await feed.settledId()).toBe(BigInt(id))
})

const TERMINATE = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
  WHERE datname = current_database() AND state = 'idle in transaction'`

describe('an animal whose transaction is open holds back later ones [F2]', () => {
  const endings: [title: string, end: (feed: HeldBack) => Promise<unknown>, expected: string[]][] = [
    ['until it commits', ({ client }) => client.query('COMMIT'), ['held', 'later']],
    ['until it rolls back', ({ client }) => client.query('ROLLBACK'), ['later']],
    ['until its connection is terminated', ({ admin }) => admin.query(TERMINATE), ['later']],
    ['until the rest of it commits', ({ client }) => client.query('ROLLBACK TO SAVEPOINT before; COMMIT'), ['later']],
    ['until it is prepared and commits', (feed) => endPrepared(feed, 'COMMIT'), ['held', 'later']],
    ['until it is prepared and rolls back', (feed) => endPrepared(feed, 'ROLLBACK'), ['later']],
  ]
  test.for(endings)('%s', async ([title, end, expected], { service, skip, tools }) => {
    const { rows } = await service.database.pool.query('SHOW max_prepared_transactions')
    const cannotPrepare = rows[0].max_prepared_transactions === '0'
    skip(cannotPrepare && title.includes('prepared'), 'the server has max_prepared_transactions = 0')
    const heldBack = await startHeldBack(tools)
    const { feed, animals, admin } = heldBack
    expect(animals).toEqual([])
    await end(heldBack)
    await waitUntil(() => animals.length >= expected.length)
    await insert(admin, 'next')
    await waitUntil(() => namesOf(animals).includes('next'))
    expect(namesOf(animals)).toEqual([...expected, 'next'])
    expect([feed.reader.lagMs(), feed.reader.gapWaits() > 0]).toEqual([0, true])
  })
})

test('nothing is held back any more when the later animal is deleted', async ({ tools }) => {
  const { feed, animals, client, admin } = await startHeldBack(tools)
  await admin.query("DELETE FROM animal WHERE name = 'later'")
  await client.query('COMMIT')
  await waitUntil(() => animals.length > 0)
  await waitUntil(() => feed.reader.lagMs() === 0)
  expect(namesOf(animals)).toEqual(['held'])
})

test('a wait is for transactions that were open when the gap was seen, not for later ones [F4]', async ({ tools }) => {
  const { animals, client } = await startHeldBack(tools)
  const later = await tools.connect()
  await later.query('BEGIN')
  await insert(later, 'of another')
  await client.query('ROLLBACK')
  await waitUntil(() => animals.length === 1)
  await later.query('COMMIT')
  await waitUntil(() => animals.length === 2)
  expect(namesOf(animals)).toEqual(['later', 'of another'])
})

test('a follower that is far behind reads the table, by status too, and then what is added [F8]', async ({
  tools: { startFeed, follow, connect },
}) => {
  const { feed } = startFeed()
  const admin = await connect()
  const add = (from: number, to: number) =>
    admin.query(`INSERT INTO animal (name, category_id, status)
      SELECT n, 1, (enum_range(NULL::pet_status))[1 + n % 3] FROM generate_series(${from}, ${to}) AS n`)
  await add(1, 500)
  const before = [follow(feed, 0n), follow(feed, 0n, 'sold'), follow(feed, 450n)]
  await waitUntil(() => before[0]?.animals.length === 500)
  // More than the feed keeps.
  const size = 500 + 2 * RECENT_SIZE + 1_000
  await add(501, size)
  const behind = [follow(feed, 0n), follow(feed, 0n, 'sold'), follow(feed, 450n)]
  const expected = Array.from({ length: size }, (_, n) => n + 1)
  for (const [all, sold, some] of [before, behind]) {
    await waitUntil(() => all?.animals.length === size)
    expect(namesOf(all?.animals ?? []).map(Number)).toEqual(expected)
    await waitUntil(() => some?.animals.length === size - 450)
    await waitUntil(() => sold?.animals.length === expected.filter((n) => n % 3 === 2).length)
    expect(namesOf(sold?.animals ?? []).map(Number)).toEqual(expected.filter((n) => n % 3 === 2))
  }
})

test('no statement is sent without followers, and less than ten a second while nothing is added [F17]', async ({
  tools: { startFeed, follow, connect },
}) => {
  const { feed, sent } = startFeed()
  await insert(await connect(), 'Rex')
  await sleep(300)
  expect(sent.count).toBe(0)
  const followers = Array.from({ length: 50 }, () => follow(feed, 0n))
  await waitUntil(() => followers.every(({ animals }) => animals.length === 1))
  const [before, since] = [sent.count, performance.now()]
  await waitUntil(() => sent.count >= before + 30) // some of them read the sequence, once a second
  expect(performance.now() - since).toBeGreaterThan(3_000)
  followers.forEach(({ stop }) => stop())
  await sleep(300) // the statement that is in flight
  const { count } = sent
  await sleep(500)
  expect(sent.count).toBe(count)
})

/** A signal for many followers, which is aborted after the test. */
function createSharedSignal(): AbortSignal {
  const controller = new AbortController()
  setMaxListeners(0, controller.signal)
  onTestFinished(() => controller.abort())
  return controller.signal
}

test('a turn of the event loop wakes followers for two milliseconds of their work, so that requests wait for a few of them', async ({
  service,
  tools: { startFeed, connect },
}) => {
  const { feed } = startFeed()
  const after = await feed.settledId()
  const signal = createSharedSignal()
  let turn = 0
  const countTurns = () => {
    turn++
    if (!signal.aborted) setImmediate(countTurns)
  }
  const wokenByTurn = new Map<number, number>()
  const clock = stopClock()
  const follow = async () => {
    const follower = feed.follow(after, {}, { clientId: 1n, signal })
    for (;;) {
      follower.position = (await follower.next()).at(-1)?.id ?? after
      wokenByTurn.set(turn, (wokenByTurn.get(turn) ?? 0) + 1)
      clock.advance(1) // what it does takes a millisecond
    }
  }
  for (let n = 0; n < 1_000; n++) follow().catch(() => {}) // aborted
  countTurns()
  const woken = () => [...wokenByTurn.values()].reduce((sum, count) => sum + count, 0)
  await insert(await connect(), 'first')
  await waitUntil(() => woken() === 1_000) // all of them wait for the next one now
  wokenByTurn.clear()
  await service.post({ name: 'second', categoryId: 1 })
  await waitUntil(() => woken() === 1_000)
  expect(Math.max(...wokenByTurn.values())).toBeLessThanOrEqual(20)
})

test('a client that resumes waits for one page of another client at a time, however many of its streams resume [F16]', async ({
  service,
  tools: { startFeed, connect },
}) => {
  const admin = await connect()
  await admin.query('INSERT INTO animal (name, category_id) SELECT n, 1 FROM generate_series(1, 1000) AS n')
  const reads: string[] = []
  const query = async (config: pg.QueryConfig) => {
    if (config.text?.includes('json_agg')) reads.push(String(config.values?.[0]))
    return service.database.pool.query(config)
  }
  const { feed } = startFeed({ query })
  const signal = createSharedSignal()
  const resume = async (clientId: bigint, after: bigint, end: bigint) => {
    const follower = feed.follow(after, {}, { clientId, signal })
    while (follower.position < end) follower.position = (await follower.next()).at(-1)?.id ?? end
    return reads.length
  }
  const readsUntilDone = resume(2n, 300n, 800n)
  const others = Array.from({ length: 50 }, (_, n) => resume(1n, BigInt(n), 500n + BigInt(n)))
  expect(await readsUntilDone).toBeLessThanOrEqual(2 * 5 + 2) // a page of each in turn, and what began before
  await Promise.all(others)
})

test('a failed read is repeated, of the newest animals and of those that are far behind [F11]', async ({
  service,
  tools: { startFeed, follow, connect },
}) => {
  const failed = new Set<string>()
  const query = async (config: pg.QueryConfig) => {
    const read = `${config.text} ${String(config.values)}`
    if (failed.has(read)) return service.database.pool.query(config)
    failed.add(read) // each read fails at first
    throw new Error('no connection')
  }
  const errors: unknown[] = []
  const { feed } = startFeed({ query, onError: (error) => errors.push(error) })
  await (await connect()).query('INSERT INTO animal (name, category_id) SELECT n, 1 FROM generate_series(1, 150) AS n')
  const followed = follow(feed, 0n)
  await waitUntil(() => followed.animals.length === 150)
  await service.post({ name: '151', categoryId: 1 })
  await waitUntil(() => followed.animals.length === 151)
  expect(namesOf(followed.animals).map(Number)).toEqual(Array.from({ length: 151 }, (_, n) => n + 1))
  expect(errors.length).toBeGreaterThanOrEqual(failed.size)
})
