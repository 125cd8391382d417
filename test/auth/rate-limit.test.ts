import { describe, expect, onTestFinished, vi } from 'vitest'
import { createRateLimiter, deleteExpiredWindows, MAX_CLIENTS } from '../../src/auth/rate-limiter.ts'
import {
  withClient,
  type TestService,
  type TestServiceOptions,
  testWithService as test,
  databaseOf,
} from '../support/harness.ts'
import { waitFor, waitUntil } from '../support/timeouts.ts'

/** The default of RATE_LIMIT_WINDOW_S. */
const WINDOW_S = 60
const HOUR_MS = 3_600_000
const startLimited = (service: TestService, points: number, options: TestServiceOptions = {}) =>
  service.startPeer({ RATE_LIMIT_POINTS: points, ...options })

/** A GraphQL query of this cost. */
const queryOfCost = (cost: number) => ({
  method: 'POST',
  headers: { 'Content-Type': 'application/json' },
  body: JSON.stringify({ query: `{ pets(first: ${cost}) { nodes { id } } }` }),
})

/** Parses RateLimit and RateLimit-Policy: a structured field (RFC 9651) of one string with integer parameters. */
function parameters(response: Response, field: string): Record<string, number> {
  const [, name, pairs = ''] = /^"([a-z-]+)"((?:;[a-z]+=\d{1,15})+)$/.exec(response.headers.get(field) ?? '') ?? []
  expect(name, `${field}: ${response.headers.get(field)}`).toBe('key')
  return Object.fromEntries(
    pairs
      .slice(1)
      .split(';')
      .map((pair) => [pair.split('=')[0], Number(pair.split('=')[1])]),
  )
}

const remaining = (response: Response) => parameters(response, 'ratelimit').r

/** Runs SQL in the database of the service. */
const query = ({ databaseUrl }: TestService, sql: string) =>
  withClient((client) => client.query(sql), databaseOf({ databaseUrl }))

/** Sets the clock of this process, which then stops, until the end of the test. */
function setClockBy(ms: number): void {
  vi.setSystemTime(Date.now() + ms)
  onTestFinished(() => void vi.useRealTimers())
}

async function expectLimited(response: Response): Promise<void> {
  const { t } = parameters(response, 'ratelimit')
  expect([response.status, response.headers.get('retry-after')]).toEqual([429, String(t)])
  expect(await response.text()).toMatch(/"code":"RESOURCE_EXHAUSTED".*"status":429/)
}

describe('the rate limit of a key', () => {
  test('is shared by both APIs: a REST request costs 1 point, a GraphQL operation its cost, and the headers count down', async ({
    service,
  }) => {
    const { send } = await startLimited(service, 100)
    const responses = [
      await send('/v1/pets'),
      await send('/graphql', queryOfCost(30)),
      await send('/v1/pets/1'),
      await send('/v1/nothing'),
      await send('/graphql', { ...queryOfCost(1), body: '{' }),
      await send('/graphql', queryOfCost(20)),
      await send('/v1/pets', { method: 'HEAD' }),
    ]
    expect(responses.map(remaining)).toEqual([99, 69, 68, 67, 66, 46, 45])
    for (const response of responses) {
      expect(parameters(response, 'ratelimit-policy')).toEqual({ q: 100, w: WINDOW_S })
      const { t } = parameters(response, 'ratelimit')
      expect(t).toBeGreaterThan(0)
      expect(t).toBeLessThanOrEqual(WINDOW_S)
    }
  })

  test('once exhausted, is 429 with Retry-After in both APIs, before path and body are validated', async ({
    service,
  }) => {
    const { send, post } = await startLimited(service, 3)
    await send('/graphql', queryOfCost(3))
    for (const response of [
      await send('/v1/pets'),
      await send('/graphql', queryOfCost(1)),
      await post('{'),
      await send('/v1/x'),
    ]) {
      expect(remaining(response)).toBe(0)
      await expectLimited(response)
    }
    const getPet = await send('/v1/pets/1')
    const headers = ['deprecation', 'sunset', 'link'].map((name) => getPet.headers.get(name))
    expect(headers).toEqual(['@1764892800', 'Thu, 05 Dec 2030 00:00:00 GMT', '</v1/pets>; rel="successor-version"'])
    await expectLimited(getPet)
  })

  test('rejects an operation above the remaining points, which costs 1 point, and accepts a cheaper one', async ({
    service,
  }) => {
    const { send } = await startLimited(service, 60)
    await send('/graphql', queryOfCost(20))
    const rejected = await send('/graphql', queryOfCost(50))
    expect(remaining(rejected)).toBe(39)
    await expectLimited(rejected)
    expect(remaining(await send('/graphql', queryOfCost(39)))).toBe(0)
  })

  test('accepts only those of several concurrent operations for which points remain', async ({ service }) => {
    const { send } = await startLimited(service, 100)
    await send('/v1/pets')
    const responses = await Promise.all(Array.from({ length: 5 }, () => send('/graphql', queryOfCost(40))))
    expect(responses.map(({ status }) => status).sort()).toEqual([200, 200, 429, 429, 429])
  })

  test.for([{ RATE_LIMIT_STORE: 'memory' }, { RATE_LIMIT_STORE: 'database' }] as const)(
    'serves the one of twenty concurrent operations that fits (%j)',
    async (store, { service }) => {
      const { send } = await startLimited(service, 30, store)
      const responses = await Promise.all(Array.from({ length: 20 }, () => send('/graphql', queryOfCost(20))))
      expect(responses.filter(({ status }) => status === 200)).toHaveLength(1)
    },
  )

  test('is reset after its window', async ({ service }) => {
    const { send } = await startLimited(service, 2, { RATE_LIMIT_WINDOW_S: 1 })
    await waitFor(async () => expect((await send('/v1/pets')).status).toBe(429))
    await waitFor(async () => expect((await send('/v1/pets')).status).toBe(200))
  })

  test('is counted for each key, and not for requests without a key', async ({ service }) => {
    const { send, base } = await startLimited(service, 1)
    const other = await service.keys.issue('other')
    expect((await send('/v1/pets')).status).toBe(200)
    expect((await send('/v1/pets')).status).toBe(429)
    expect((await send('/v1/pets', { headers: { Authorization: `Bearer ${other}` } })).status).toBe(200)
    const anonymous = await fetch(`${base}/v1/pets`)
    expect([anonymous.status, anonymous.headers.get('ratelimit')]).toEqual([401, null])
  })

  test('of 0 is disabled: no headers and no limit', async ({ service }) => {
    const { send } = await startLimited(service, 0)
    for (const response of [await send('/v1/pets'), await send('/graphql', queryOfCost(50))]) {
      expect(response.status).toBe(200)
      expect([response.headers.get('ratelimit'), response.headers.get('ratelimit-policy')]).toEqual([null, null])
    }
  })
})

describe('a rate limit that instances share', () => {
  const shared = { RATE_LIMIT_STORE: 'database' } as const

  test('has its connections before the first request, so that a burst does not wait for them', async ({ service }) => {
    const connections = async () =>
      Number(
        (await query(service, 'SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()')).rows[0]
          .count,
      )
    await fetch(`${service.base}/readyz`) // through the connection of the readiness probe
    const before = await connections()
    await startLimited(service, 20, shared)
    await waitUntil(async () => (await connections()) === before + 3) // that of its readiness probe, too
  })

  test('counts down across instances and APIs, and is exhausted in all of them', async ({ service }) => {
    const [first, second] = [await startLimited(service, 20, shared), await startLimited(service, 20, shared)]
    expect(remaining(await first.send('/v1/pets'))).toBe(19)
    expect(remaining(await second.send('/graphql', queryOfCost(10)))).toBe(9)
    expect(remaining(await first.send('/graphql', queryOfCost(9)))).toBe(0)
    for (const { send } of [first, second, first, second]) {
      const rejected = await send('/v1/pets')
      expect(remaining(rejected)).toBe(0)
      await expectLimited(rejected)
    }
  })

  test('whose store is unavailable: each instance continues to count from its last state, and logs one warning', async ({
    service,
  }) => {
    const { send, log } = await startLimited(service, 1_000, shared)
    expect(remaining(await send('/v1/pets'))).toBe(999)
    await query(service, 'ALTER TABLE rate_limit RENAME TO lost')
    const responses = [await send('/v1/pets'), await send('/v1/pets'), await send('/graphql', queryOfCost(5))]
    expect(responses.map(({ status }) => status)).toEqual([200, 200, 200])
    expect(responses.map(remaining)).toEqual([998, 997, 992])
    expect(log.lines.filter(({ level }) => level === 40).map(({ msg }) => msg)).toEqual([
      'rate-limit store unavailable, limiting per process',
    ])
    await query(service, 'ALTER TABLE lost RENAME TO rate_limit')
    // After a second the instance uses the store again, which continues from its own state.
    await waitFor(async () => expect(remaining(await send('/v1/pets'))).toBe(998))
  })

  test('rejects a client without remaining points without a query to the store', async ({ service }) => {
    const { send } = await startLimited(service, 1, shared)
    expect((await send('/v1/pets')).status).toBe(200)
    await query(service, 'TRUNCATE rate_limit')
    await expectLimited(await send('/v1/pets'))
  })

  test('begins a new window when the clock of the database was set back', async ({ service }) => {
    const { send } = await startLimited(service, 20, shared)
    expect(remaining(await send('/v1/pets'))).toBe(19)
    await query(service, `UPDATE rate_limit SET expire = expire + ${HOUR_MS}`)
    const response = await send('/v1/pets')
    expect(remaining(response)).toBe(19)
    expect(parameters(response, 'ratelimit').t).toBeLessThanOrEqual(WINDOW_S)
  })

  test('deletes expired windows', async ({ service }) => {
    const { send } = await startLimited(service, 20, shared)
    await send('/v1/pets')
    await query(service, `INSERT INTO rate_limit SELECT 'key:expired', 1, expire - ${HOUR_MS} FROM rate_limit`)
    await deleteExpiredWindows(service.database.pool)
    expect((await query(service, 'SELECT key, points FROM rate_limit')).rows).toEqual([{ key: 'key:1', points: 1 }])
  })
})

describe.for([{ RATE_LIMIT_STORE: 'memory' }, { RATE_LIMIT_STORE: 'database' }] as const)(
  'a rate limit (%j) when the clock of the machine is changed',
  (store) => {
    test('keeps counting down in its window, and rejects no longer than until its end', async ({ service }) => {
      const { send } = await startLimited(service, 3, store)
      const responses = [await send('/v1/pets')]
      for (const ms of [-HOUR_MS, 25 * HOUR_MS, -48 * HOUR_MS]) {
        setClockBy(ms)
        responses.push(await send('/v1/pets'))
      }
      expect(responses.map(({ status }) => status)).toEqual([200, 200, 200, 429])
      expect(responses.map(remaining)).toEqual([2, 1, 0, 0])
      for (const response of responses) {
        const { t } = parameters(response, 'ratelimit')
        expect(t).toBeGreaterThan(0)
        expect(t).toBeLessThanOrEqual(WINDOW_S)
      }
      setClockBy(72 * HOUR_MS)
      await expectLimited(await send('/v1/pets'))
    })

    test('is reset after its window', async ({ service }) => {
      const { send } = await startLimited(service, 2, { ...store, RATE_LIMIT_WINDOW_S: 1 })
      await waitFor(async () => expect((await send('/v1/pets')).status).toBe(429))
      setClockBy(-HOUR_MS)
      await waitFor(async () => expect((await send('/v1/pets')).status).toBe(200))
    })
  },
)

test('instances whose clocks differ by a day share one window', async ({ service }) => {
  const [first, second] = [
    await startLimited(service, 20, { RATE_LIMIT_STORE: 'database' }),
    await startLimited(service, 20, { RATE_LIMIT_STORE: 'database' }),
  ]
  const counts = []
  for (const [{ send }, aheadMs] of [
    [first, 0],
    [second, 24 * HOUR_MS],
    [first, -24 * HOUR_MS],
    [second, 24 * HOUR_MS],
  ] as const) {
    setClockBy(aheadMs)
    const response = await send('/v1/pets')
    counts.push(remaining(response))
    expect(parameters(response, 'ratelimit').t).toBeLessThanOrEqual(WINDOW_S)
  }
  expect(counts).toEqual([19, 18, 17, 16])
})

test('memory is bounded for any number of IP addresses: only the most recent ones are counted', async () => {
  const limiter = createRateLimiter({ name: 'test', points: 1, windowSeconds: 60 })
  await limiter.consume('first', 1)
  expect(limiter.peek('first').allowed).toBe(false)
  for (let n = 0; n < MAX_CLIENTS; n++) await limiter.consume(`other ${n}`, 1)
  expect(limiter.peek('first').allowed).toBe(true)
  expect(limiter.peek('other 0').allowed).toBe(false)
})
