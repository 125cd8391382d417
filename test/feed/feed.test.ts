import { setMaxListeners } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import pg, { type Pool } from 'pg'
import { describe, expect, onTestFinished } from 'vitest'
import type { Animal, PetStatus } from '../../src/animals/animal.ts'
import { createFeed, type Feed } from '../../src/feed/feed.ts'
import { RECENT_SIZE } from '../../src/feed/recent.ts'
import { auditStreams, readStored } from '../chaos/stream-audit.ts'
import { testWithService } from '../support/harness.ts'
import { waitUntil } from '../support/timeouts.ts'

interface Followed {
  /** Grows. */
  animals: Animal[]
  stop(): void
}

/** Helpers whose feeds, followers and connections end with the test. */
interface FeedTools {
  /** @returns a feed, and the number of statements that it has sent */
  startFeed(options?: { query?: Pool['query']; onError?: (error: unknown) => void }): {
    feed: Feed
    sent: { count: number }
  }
  follow(feed: Feed, after: bigint, status?: PetStatus): Followed
  /** A connection of another program, on which a transaction may stay open. */
  connect(): Promise<pg.Client>
}

const test = testWithService.extend<{ tools: FeedTools }>({
  tools: async ({ service }, use) => {
    const ends: (() => unknown)[] = []
    await use({
      startFeed({ query, onError = (error: unknown) => expect.unreachable(String(error)) } = {}) {
        const sent = { count: 0 }
        const run = query ?? ((config: pg.QueryConfig) => service.database.pool.query(config))
        const pool = { query: (config: pg.QueryConfig) => (sent.count++, run(config)) }
        const feed = createFeed(pool as unknown as Pool, { maxWaitMs: 100_000, onError }) // all that it uses of a pool
        ends.push(() => feed.stop())
        return { feed, sent }
      },
      follow(feed, after, status) {
        const controller = new AbortController()
        const animals: Animal[] = []
        const read = async () => {
          const follower = feed.follow(after, { status, clientId: 1n, signal: controller.signal })
          for (;;) {
            animals.push(...(await follower.next()))
            follower.position = animals.at(-1)?.id ?? after
          }
        }
        const done = read().catch(() => {}) // aborted
        ends.unshift(() => (controller.abort(), done))
        return { animals, stop: () => controller.abort() }
      },
      async connect() {
        const client = new pg.Client({ connectionString: service.databaseUrl })
        client.on('error', () => {}) // it is terminated
        await client.connect()
        ends.push(() => client.end())
        return client
      },
    })
    for (const end of ends) await end()
  },
})

const insert = (client: Pick<pg.Client, 'query'>, name: string) =>
  client.query("INSERT INTO animal (name, category_id, status) VALUES ($1, 1, 'sold')", [name])

const namesOf = (animals: Animal[]) => animals.map(({ name }) => name)

describe('an animal whose transaction is open holds back later ones', () => {
  const endings: { title: string; end(client: pg.Client, admin: pg.Client): Promise<unknown>; expected: string[] }[] = [
    { title: 'until it commits', end: (client) => client.query('COMMIT'), expected: ['held', 'later'] },
    { title: 'until it rolls back', end: (client) => client.query('ROLLBACK'), expected: ['later'] },
    {
      title: 'until its connection is terminated',
      async end(client, admin) {
        const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')
        await admin.query('SELECT pg_terminate_backend($1)', [rows[0]?.pid])
      },
      expected: ['later'],
    },
    {
      title: 'until the rest of it commits without the animal',
      end: (client) => client.query('ROLLBACK TO SAVEPOINT before; COMMIT'),
      expected: ['later'],
    },
  ]

  for (const { title, end, expected } of endings) {
    test(title, async ({ tools: { startFeed, follow, connect } }) => {
      const { feed } = startFeed()
      const followed = follow(feed, await feed.settledId())
      const [client, admin] = [await connect(), await connect()]
      await client.query('BEGIN; SAVEPOINT before')
      await insert(client, 'held')
      await insert(admin, 'later')
      await waitUntil(() => feed.reader.lagMs() > 0) // it knows for which transactions it waits
      expect(followed.animals).toEqual([])
      await end(client, admin)
      await waitUntil(() => followed.animals.length >= expected.length)
      expect(namesOf(followed.animals)).toEqual(expected)
      await insert(admin, 'next')
      await waitUntil(() => namesOf(followed.animals).includes('next'))
      expect(namesOf(followed.animals)).toEqual([...expected, 'next'])
      expect([feed.reader.lagMs(), feed.reader.gapWaits > 0]).toEqual([0, true])
    })
  }

  for (const { end, expected } of [
    { end: 'COMMIT PREPARED', expected: ['held', 'later'] },
    { end: 'ROLLBACK PREPARED', expected: ['later'] },
  ]) {
    test(`also when it is prepared meanwhile, until ${end}`, async ({
      service,
      skip,
      tools: { startFeed, follow, connect },
    }) => {
      const { rows } = await service.database.pool.query('SHOW max_prepared_transactions')
      skip(rows[0].max_prepared_transactions === '0', 'the server has max_prepared_transactions = 0')
      const { feed, sent } = startFeed()
      const followed = follow(feed, await feed.settledId())
      const [client, admin] = [await connect(), await connect()]
      await client.query('BEGIN')
      await insert(client, 'held')
      await insert(admin, 'later')
      await waitUntil(() => feed.reader.lagMs() > 0)
      const name = new URL(service.databaseUrl).pathname.slice(1)
      await client.query(`PREPARE TRANSACTION '${name}'`)
      const { count } = sent
      await waitUntil(() => sent.count > count + 6) // it reads the locks several times
      expect(followed.animals).toEqual([])
      await admin.query(`${end} '${name}'`)
      await waitUntil(() => followed.animals.length >= expected.length)
      expect(namesOf(followed.animals)).toEqual(expected)
    })
  }
})

test('a wait is for the transactions that were open when the gap was seen, not for later ones', async ({
  tools: { startFeed, follow, connect },
}) => {
  const { feed } = startFeed()
  const followed = follow(feed, await feed.settledId())
  const [first, second, admin] = [await connect(), await connect(), await connect()]
  await first.query('BEGIN')
  await insert(first, 'held')
  await insert(admin, 'later')
  await waitUntil(() => feed.reader.lagMs() > 0)
  await second.query('BEGIN')
  await insert(second, 'of the second')
  await first.query('ROLLBACK')
  await waitUntil(() => followed.animals.length === 1)
  expect(namesOf(followed.animals)).toEqual(['later'])
  await second.query('COMMIT')
  await waitUntil(() => followed.animals.length === 2)
  expect(namesOf(followed.animals)).toEqual(['later', 'of the second'])
})

test('the first settled id is below an animal whose transaction is open', async ({ tools: { startFeed, connect } }) => {
  const { feed } = startFeed()
  const [client, admin] = [await connect(), await connect()]
  await client.query('BEGIN')
  await insert(client, 'held')
  await insert(admin, 'later')
  let settled: bigint | undefined
  const settling = feed.settledId().then((id) => (settled = id))
  await sleep(300) // a result that does not wait would be there, or come too late to fail the test
  expect(settled).toBeUndefined()
  await client.query('COMMIT')
  expect(await settling).toBe(2n)
  // Known now, so it waits for no transaction any more.
  await client.query('BEGIN')
  await insert(client, 'held again')
  await insert(admin, 'later')
  expect(await feed.settledId()).toBe(2n)
  await client.query('COMMIT')
})

test('nothing is missed, repeated or out of order under concurrent writers', async ({
  service,
  tools: { startFeed, follow, connect },
}) => {
  const feeds = [startFeed().feed, startFeed().feed]
  const early = await Promise.all(feeds.map(async (feed) => follow(feed, await feed.settledId())))
  const marks: { mark: bigint; seen: Set<bigint>; later: { animals: Animal[] } }[] = []
  const writers = Array.from({ length: 8 }, async (_, writer) => {
    const client = await connect()
    for (let n = 0; n < 25; n++) {
      await client.query('BEGIN')
      for (let i = 0; i <= n % 3; i++) {
        await insert(client, `${writer} ${n} ${i}`)
        await sleep(Math.random() * 4)
      }
      await sleep(Math.random() * 10)
      await client.query(Math.random() < 0.2 ? 'ROLLBACK' : 'COMMIT')
    }
  })
  const pages = feeds.map(async (feed) => {
    for (let n = 0; n < 15; n++) {
      await sleep(Math.random() * 20)
      const mark = await feed.settledId()
      const { rows } = await service.database.pool.query<{ id: string }>('SELECT id FROM animal')
      marks.push({ mark, seen: new Set(rows.map(({ id }) => BigInt(id))), later: follow(feed, mark) })
    }
  })
  await Promise.all([...writers, ...pages])
  const last = await service.post({ name: 'last', categoryId: 1 })
  const { id: lastId } = (await last.json()) as { id: number }
  const { rows } = await service.database.pool.query<{ id: string }>('SELECT id FROM animal ORDER BY id')
  const all = rows.map(({ id }) => BigInt(id))
  expect(all.length).toBeGreaterThan(100)
  for (const { animals } of [...early, ...marks.map(({ later }) => later)]) {
    await waitUntil(() => animals.at(-1)?.id === BigInt(lastId))
  }
  for (const { animals } of early) expect(animals.map(({ id }) => id)).toEqual(all)
  for (const { mark, seen, later } of marks) {
    expect(later.animals.map(({ id }) => id)).toEqual(all.filter((id) => id > mark))
    expect(all.filter((id) => id <= mark && !seen.has(id))).toEqual([])
  }
})

/** Answers that no transaction is open: a feed on it does not wait for any. */
function withoutWriters(pool: Pool): Pool['query'] {
  const query = async (config: pg.QueryConfig) => {
    const result = await pool.query<{ writers?: string[] }>(config)
    return { ...result, rows: result.rows.map((row) => (row.writers ? { ...row, writers: [] } : row)) }
  }
  return query as Pool['query'] // the form that a feed uses
}

test.for([
  { title: 'the feed', isBroken: false, missing: '0' },
  { title: 'a feed that does not wait for open transactions', isBroken: true, missing: '1' },
])(
  'the audit of `npm run chaos -- live` finds missing animals of $title: $missing',
  async ({ isBroken, missing }, { service, tools }) => {
    const { feed } = tools.startFeed(isBroken ? { query: withoutWriters(service.database.pool) } : {})
    const { animals } = tools.follow(feed, await feed.settledId())
    const [client, admin] = [await tools.connect(), await tools.connect()]
    await client.query('BEGIN')
    await insert(client, 'held')
    await insert(admin, 'later')
    await waitUntil(() => (isBroken ? animals.length > 0 : feed.reader.lagMs() > 0))
    await client.query('COMMIT')
    await insert(admin, 'last')
    await waitUntil(() => namesOf(animals).includes('last'))
    const received = { status: undefined, page: [], connections: [animals.map(({ id }) => id)] }
    const audit = auditStreams([{ received }], await readStored(service.databaseUrl))
    const found = audit.find(({ name }) => name === '… animals missing')
    expect(found).toMatchObject({ value: missing, holds: !isBroken })
  },
)

test('a follower that is far behind reads the table, by status too, and then what is added', async ({
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

test('no statement is sent without followers, and less than ten a second while nothing is added', async ({
  tools: { startFeed, follow, connect },
}) => {
  const { feed, sent } = startFeed()
  await insert(await connect(), 'Rex')
  await sleep(300)
  expect(sent.count).toBe(0)
  const followers = Array.from({ length: 50 }, () => follow(feed, 0n))
  await waitUntil(() => followers.every(({ animals }) => animals.length === 1))
  const [before, since] = [sent.count, performance.now()]
  await waitUntil(() => sent.count >= before + 10)
  expect(performance.now() - since).toBeGreaterThan(1_000)
  followers.forEach(({ stop }) => stop())
  await sleep(300) // the statement that is in flight
  const { count } = sent
  await sleep(500)
  expect(sent.count).toBe(count)
})

test('many followers are woken in several turns of the event loop, so that requests wait for a few of them', async ({
  service,
  tools: { startFeed, connect },
}) => {
  const { feed } = startFeed()
  const after = await feed.settledId()
  const controller = new AbortController()
  setMaxListeners(0, controller.signal) // shared by many followers
  onTestFinished(() => controller.abort())
  let turn = 0
  const countTurns = () => {
    turn++
    if (!controller.signal.aborted) setImmediate(countTurns)
  }
  const wokenByTurn = new Map<number, number>()
  const follow = async () => {
    const follower = feed.follow(after, { clientId: 1n, signal: controller.signal })
    for (;;) {
      follower.position = (await follower.next()).at(-1)?.id ?? after
      wokenByTurn.set(turn, (wokenByTurn.get(turn) ?? 0) + 1)
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
  expect(Math.max(...wokenByTurn.values())).toBeLessThanOrEqual(200)
})

test('a follower that begins when the last one has ended during a read receives what is there', async ({
  service,
  tools: { startFeed, follow },
}) => {
  await service.post({ name: 'old', categoryId: 1 })
  let [reads, release] = [0, () => {}]
  const released = new Promise<void>((resolve) => (release = resolve))
  const query = async (config: pg.QueryConfig) => {
    const result = await service.database.pool.query(config)
    if (config.text?.includes('WHERE id > $1 ORDER BY') && ++reads === 2) await released
    return result
  }
  const { feed } = startFeed({ query: query as Pool['query'] })
  const first = follow(feed, 0n)
  await waitUntil(() => reads === 2)
  first.stop()
  release()
  await sleep(500) // the feed has stopped by then; the test passes also if it has not
  const second = follow(feed, 0n)
  await waitUntil(() => second.animals.length === 1)
})

test('a client that resumes waits for one page of another client at a time, however many of its streams resume', async ({
  service,
  tools: { startFeed, connect },
}) => {
  const admin = await connect()
  await admin.query('INSERT INTO animal (name, category_id) SELECT n, 1 FROM generate_series(1, 1000) AS n')
  const reads: string[] = []
  const query = async (config: pg.QueryConfig) => {
    if (config.text?.includes('LIMIT 100')) reads.push(String(config.values?.[0]))
    return service.database.pool.query(config)
  }
  const { feed } = startFeed({ query: query as Pool['query'] })
  const controller = new AbortController()
  setMaxListeners(0, controller.signal) // shared by many followers
  onTestFinished(() => controller.abort())
  const resume = async (clientId: bigint, after: bigint, end: bigint) => {
    const follower = feed.follow(after, { clientId, signal: controller.signal })
    while (follower.position < end) follower.position = (await follower.next()).at(-1)?.id ?? end
    return reads.length
  }
  const others = Array.from({ length: 50 }, (_, n) => resume(1n, BigInt(n), 500n + BigInt(n)))
  const readsUntilDone = await resume(2n, 300n, 800n)
  expect(readsUntilDone).toBeLessThanOrEqual(2 * 5 + 2) // a page of each in turn, and what began before
  await Promise.all(others)
})

test('a failed read is repeated', async ({ service, tools: { startFeed, follow } }) => {
  let failures = 0
  const errors: unknown[] = []
  const query = async (config: pg.QueryConfig) => {
    if (failures++ % 2 === 0) throw new Error('no connection')
    return service.database.pool.query(config)
  }
  const { feed } = startFeed({ query: query as Pool['query'], onError: (error) => void errors.push(error) })
  await service.post({ name: 'old', categoryId: 1 })
  const followed = follow(feed, 0n)
  await waitUntil(() => followed.animals.length === 1)
  await service.post({ name: 'new', categoryId: 1 })
  await waitUntil(() => followed.animals.length === 2)
  expect(namesOf(followed.animals)).toEqual(['old', 'new'])
  expect(errors.length).toBeGreaterThan(0)
})
