import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { expect } from 'vitest'
import { type Animal, animals, type PetStatus } from '../../src/pets/animal.ts'
import { Feed } from '../../src/feed/feed.ts'
import { RECENT_SIZE } from '../../src/feed/recent.ts'
import type { Pool } from '../../src/database/pool.ts'
import { createStatements } from '../../src/database/statements.ts'
import { testWithService } from '../support/harness.ts'
import { stopClock, waitUntil } from '../support/timeouts.ts'

/** Helpers whose feeds, followers and connections end with the test. */
const test = testWithService.extend('tools', async ({ service }, { onCleanup }) => {
  const { pool } = service.database
  const ends: (() => unknown)[] = []
  onCleanup(async () => {
    for (const end of ends) await end()
  })

  /** @returns a feed, and the number of statements that it has sent */
  function startFeed({
    query = (config: pg.QueryConfig) => pool.query(config),
    onError = (error: unknown): unknown => expect.unreachable(String(error)),
  } = {}) {
    const sent = { count: 0 }
    const client = { query: (config: pg.QueryConfig) => (sent.count++, query(config)) }
    const source = { withConnection: (work: (one: typeof client) => unknown) => work(client) }
    const statements = createStatements(source as unknown as Pool) // all that it uses of a pool
    const feed = new Feed(
      animals,
      { feedLoopStatements: statements, feedPageStatements: statements },
      { maxWaitMs: 100_000, observe: (event) => event.type === 'feed-failed' && onError(event.error) },
    )
    ends.push(() => feed.stop())
    return { feed, sent }
  }

  /** @returns the animals that the follower receives, which grow */
  function follow(feed: Feed<typeof animals>, after: bigint, { status, clientId = 1n }: FollowOptions = {}) {
    const controller = new AbortController()
    const received: Animal[] = []
    const read = async () => {
      const follower = feed.follow(after, { status }, { clientId, signal: controller.signal })
      for (;;) {
        received.push(...(await follower.next()))
        follower.position = received.at(-1)?.id ?? after
      }
    }
    const done = read().catch(() => {}) // aborted
    ends.unshift(() => (controller.abort(), done))
    return { animals: received, stop: () => controller.abort() }
  }

  /** Begins a transaction of another program, and adds an animal. */
  async function beginWith(name: string) {
    const client = new pg.Client({ connectionString: service.databaseUrl })
    await client.connect()
    ends.push(() => client.end())
    await client.query('BEGIN; SAVEPOINT before')
    await insert(client, name)
    return client
  }

  /** Starts a feed in which the open transaction of `client` holds back a later animal. */
  async function startHeldBack() {
    const { feed, sent } = startFeed()
    const { animals } = follow(feed, await feed.settledId())
    const client = await beginWith('held')
    await insert(pool, 'later')
    await waitUntil(() => feed.reader.lagMs() > 0) // it knows for which transactions it waits
    expect(animals).toEqual([])
    return { feed, sent, animals, client }
  }

  return { pool, startFeed, follow, beginWith, startHeldBack }
})

type FollowOptions = { status?: PetStatus; clientId?: bigint }

const insert = (client: Pick<pg.Client, 'query'>, name: string) =>
  client.query("INSERT INTO animal (name, category_id, status) VALUES ($1, 1, 'sold')", [name])

const insertMany = (client: Pick<pg.Client, 'query'>, from: number, to: number) =>
  client.query(`INSERT INTO animal (name, category_id, status)
    SELECT n, 1, (enum_range(NULL::pet_status))[1 + n % 3] FROM generate_series(${from}, ${to}) AS n`)

const namesOf = (animals: Animal[]) => animals.map(({ name }) => name)

const numbersTo = (last: number) => Array.from({ length: last }, (_, n) => n + 1)

test('probes share a check, and positions during open writes are at least theirs [F19]', async ({ service, tools }) => {
  const { feed, sent } = tools.startFeed()
  await feed.settledId()
  const id = await service.create()
  await Promise.all([feed.check(), feed.check(), feed.check()])
  expect(sent.count).toBe(3) // the first position; of the probes, the sequence and a settled id
  await tools.beginWith('held')
  expect(await feed.settledId()).toBe(BigInt(id))
})

test.for([
  ['commits', 'COMMIT', ['held', 'later']],
  ['rolls back', 'ROLLBACK', ['later']],
  ['rolls back to a savepoint', 'ROLLBACK TO SAVEPOINT before', ['later']],
  ['deletes the later one and commits', "DELETE FROM animal WHERE name = 'later'; COMMIT", ['held']],
] as const)(
  'an animal whose transaction is open holds back later ones until it %s [F2]',
  async ([, end, expected], { tools }) => {
    const { feed, animals, client } = await tools.startHeldBack()
    await client.query(end)
    await waitUntil(() => animals.length > 0 && feed.reader.lagMs() === 0)
    await insert(tools.pool, 'next')
    await waitUntil(() => namesOf(animals).includes('next'))
    expect(namesOf(animals)).toEqual([...expected, 'next'])
  },
)

test('an animal of a prepared transaction holds back later ones until it commits', async ({ tools }) => {
  const { sent, animals, client } = await tools.startHeldBack()
  await client.query(`PREPARE TRANSACTION '${client.database}'`)
  const { count } = sent
  await waitUntil(() => sent.count > count + 6) // the feed reads the locks several times
  expect(animals).toEqual([])
  await tools.pool.query(`COMMIT PREPARED '${client.database}'`)
  await waitUntil(() => animals.length === 2)
  expect(namesOf(animals)).toEqual(['held', 'later'])
})

test('a wait is for transactions that were open when the gap was seen, not for later ones [F4]', async ({ tools }) => {
  const { animals, client } = await tools.startHeldBack()
  const later = await tools.beginWith('of another')
  await client.query('ROLLBACK')
  await waitUntil(() => animals.length === 1)
  await later.query('COMMIT')
  await waitUntil(() => animals.length === 2)
  expect(namesOf(animals)).toEqual(['later', 'of another'])
})

test('a follower that is far behind reads the table, by status too, and then what is added [F8]', async ({
  tools: { pool, startFeed, follow },
}) => {
  const { feed } = startFeed()
  const size = 2 * RECENT_SIZE + 1_000 // more than the feed keeps
  const first = follow(feed, 0n)
  await insertMany(pool, 1, size)
  await waitUntil(() => first.animals.length === size)
  const [all, sold] = [follow(feed, 0n), follow(feed, 0n, { status: 'sold' })]
  await insertMany(pool, size + 1, size + 300)
  const expected = numbersTo(size + 300)
  for (const { animals } of [first, all]) {
    await waitUntil(() => animals.length === expected.length)
    expect(namesOf(animals).map(Number)).toEqual(expected)
  }
  const expectedSold = expected.filter((n) => n % 3 === 2)
  await waitUntil(() => sold.animals.length === expectedSold.length)
  expect(namesOf(sold.animals).map(Number)).toEqual(expectedSold)
})

test('no statement is sent without followers, and less than ten a second while nothing is added [F17]', async ({
  tools: { pool, startFeed, follow },
}) => {
  const { feed, sent } = startFeed()
  await insert(pool, 'Rex')
  const followers = Array.from({ length: 50 }, () => follow(feed, 0n))
  await waitUntil(() => followers.every(({ animals }) => animals.length === 1))
  const [before, since] = [sent.count, performance.now()]
  await waitUntil(() => sent.count >= before + 30) // some of them read the sequence, once a second
  expect(performance.now() - since).toBeGreaterThan(3_000)
  followers.forEach(({ stop }) => stop())
  await sleep(300) // the statement that is in flight
  const { count } = sent
  await insert(pool, 'Tom')
  await sleep(500)
  expect(sent.count).toBe(count)
})

test('a turn of the event loop wakes followers for two milliseconds of their work, so that requests wait for a few of them', async ({
  tools,
}) => {
  const { feed } = tools.startFeed()
  const clock = stopClock()
  let [turn, woken] = [0, 0]
  const wokenByTurn: number[] = []
  const work = () => {
    woken++
    wokenByTurn[turn] = (wokenByTurn[turn] ?? 0) + 1
    clock.advance(1) // it takes a millisecond
  }
  const stops = numbersTo(100).map(() => feed.listen(() => queueMicrotask(work), 0n))
  const countTurns = () => {
    turn++
    if (woken < 100) setImmediate(countTurns)
  }
  countTurns()
  await waitUntil(() => woken === 100)
  stops.forEach((stop) => stop())
  expect(Math.max(...Object.values(wokenByTurn))).toBe(2)
})

test('a client that resumes waits for one page of another client at a time, however many of its streams resume [F16]', async ({
  tools: { pool, startFeed, follow },
}) => {
  await insertMany(pool, 1, 2_000)
  const pages: string[] = [] // the ids with which they begin
  const query = async (config: pg.QueryConfig) => {
    if (config.text?.includes('json_agg'))
      for (const { oldest_id } of JSON.parse(config.values?.[0])) pages.push(oldest_id)
    return pool.query(config)
  }
  const { feed } = startFeed({ query })
  const resumed = follow(feed, 350n, { clientId: 2n })
  for (let n = 0; n < 50; n++) follow(feed, BigInt(n))
  await waitUntil(() => resumed.animals.length === 1_650)
  expect(pages.indexOf('1351')).toBeLessThanOrEqual(2 * 11 + 2) // a page of each in turn, and what began before
})

test('a failed read is repeated, of the newest animals and of those that are far behind [F11]', async ({
  tools: { pool, startFeed, follow },
}) => {
  const failed = new Set<string>()
  const query = async (config: pg.QueryConfig) => {
    const read = `${config.text} ${String(config.values)}`
    if (failed.has(read)) return pool.query(config)
    failed.add(read) // each read fails at first
    throw new Error('no connection')
  }
  const { feed } = startFeed({ query, onError() {} })
  await insertMany(pool, 1, 700)
  const { animals } = follow(feed, 0n)
  await waitUntil(() => animals.length === 700)
  await insertMany(pool, 701, 701)
  await waitUntil(() => animals.length === 701)
  expect(namesOf(animals).map(Number)).toEqual(numbersTo(701))
})
