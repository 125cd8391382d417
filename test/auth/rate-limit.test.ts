import { describe, expect, onTestFinished, vi } from 'vitest'
import { loadConfig } from '../../src/config.ts'
import { createRateLimiter, deleteExpiredWindows, MAX_CLIENTS } from '../../src/auth/rate-limiter.ts'
import { withClient, type TestService, testWithService as test } from '../support/harness.ts'
import { waitFor } from '../support/timeouts.ts'

const defaults = loadConfig({}).rateLimits
const HOUR_MS = 3_600_000
const withBudget = (service: TestService, points: number, more = {}) =>
  service.startPeer({ rateLimits: { ...defaults, points, ...more } })

/** A GraphQL query that costs as much. */
const costing = (cost: number) => ({
  method: 'POST',
  headers: { 'Content-Type': 'application/json' },
  body: JSON.stringify({ query: `{ pets(first: ${cost}) { nodes { id } } }` }),
})

/** A structured field (RFC 9651) of one string with integer parameters, as both fields are (draft 10, §3 and §4). */
function parameters(response: Response, field: string): Record<string, number> {
  const [, name, rest = ''] = /^"([a-z-]+)"((?:;[a-z]+=\d{1,15})+)$/.exec(response.headers.get(field) ?? '') ?? []
  expect(name, `${field}: ${response.headers.get(field)}`).toBe('key')
  return Object.fromEntries(
    rest
      .slice(1)
      .split(';')
      .map((pair) => [pair.split('=')[0], Number(pair.split('=')[1])]),
  )
}

const left = (response: Response) => parameters(response, 'ratelimit').r

/** Runs SQL in the database of the service. */
const query = ({ databaseUrl }: TestService, sql: string) =>
  withClient((client) => client.query(sql), new URL(databaseUrl).pathname.slice(1))

/** Sets the clock of this machine, which then stands still, for the rest of the test. */
function setClockBy(ms: number): void {
  vi.setSystemTime(Date.now() + ms)
  onTestFinished(() => void vi.useRealTimers())
}

async function expectSpent(response: Response): Promise<void> {
  const { t } = parameters(response, 'ratelimit')
  expect([response.status, response.headers.get('retry-after')]).toEqual([429, String(t)])
  expect(await response.text()).toMatch(/"code":"RESOURCE_EXHAUSTED".*"status":429/)
}

describe('the budget of a key', () => {
  test('is one for both faces: a REST call costs 1, a GraphQL operation its cost; the headers count down', async ({
    service,
  }) => {
    const { send } = await withBudget(service, 100)
    const answers = [
      await send('/v1/pets'),
      await send('/graphql', costing(30)),
      await send('/v1/pets/1'),
      await send('/v1/nothing'),
      await send('/graphql', { ...costing(1), body: '{' }),
      await send('/graphql', costing(20)),
      await send('/v1/pets', { method: 'HEAD' }),
    ]
    expect(answers.map(left)).toEqual([99, 69, 68, 67, 66, 46, 45])
    for (const answer of answers) {
      expect(parameters(answer, 'ratelimit-policy')).toEqual({ q: 100, w: defaults.windowSeconds })
      const { t } = parameters(answer, 'ratelimit')
      expect(t).toBeGreaterThan(0)
      expect(t).toBeLessThanOrEqual(defaults.windowSeconds)
    }
  })

  test('once spent, is 429 with Retry-After on both faces, before path and body are looked at', async ({ service }) => {
    const { send, post } = await withBudget(service, 3)
    await send('/graphql', costing(3))
    for (const response of [
      await send('/v1/pets'),
      await send('/graphql', costing(1)),
      await post('{'),
      await send('/v1/x'),
    ]) {
      expect(left(response)).toBe(0)
      await expectSpent(response)
    }
    const getPet = await send('/v1/pets/1')
    const told = ['deprecation', 'sunset', 'link'].map((name) => getPet.headers.get(name))
    expect(told).toEqual(['@1764892800', 'Thu, 05 Dec 2030 00:00:00 GMT', '</v1/pets>; rel="successor-version"'])
    await expectSpent(getPet)
  })

  test('with too little left for an operation rejects it for 1 point, and the rest can still be consumed', async ({
    service,
  }) => {
    const { send } = await withBudget(service, 60)
    await send('/graphql', costing(20))
    const rejected = await send('/graphql', costing(50))
    expect(left(rejected)).toBe(39)
    await expectSpent(rejected)
    expect(left(await send('/graphql', costing(39)))).toBe(0)
  })

  test('of several operations at once runs those that it has points for', async ({ service }) => {
    const { send } = await withBudget(service, 100)
    await send('/v1/pets')
    const answers = await Promise.all(Array.from({ length: 5 }, () => send('/graphql', costing(40))))
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 429, 429, 429])
  })

  test('is whole again after its window', async ({ service }) => {
    const { send } = await withBudget(service, 2, { windowSeconds: 1 })
    await waitFor(async () => expect((await send('/v1/pets')).status).toBe(429))
    await waitFor(async () => expect((await send('/v1/pets')).status).toBe(200))
  })

  test('is each key’s own, and nobody’s without a key', async ({ service }) => {
    const { send, base } = await withBudget(service, 1)
    const other = await service.keys.issue('other')
    expect((await send('/v1/pets')).status).toBe(200)
    expect((await send('/v1/pets')).status).toBe(429)
    expect((await send('/v1/pets', { headers: { Authorization: `Bearer ${other}` } })).status).toBe(200)
    const nobody = await fetch(`${base}/v1/pets`)
    expect([nobody.status, nobody.headers.get('ratelimit')]).toEqual([401, null])
  })

  test('of 0 is none: no header, no limit', async ({ service }) => {
    const { send } = await withBudget(service, 0)
    for (const answer of [await send('/v1/pets'), await send('/graphql', costing(50))]) {
      expect(answer.status).toBe(200)
      expect([answer.headers.get('ratelimit'), answer.headers.get('ratelimit-policy')]).toEqual([null, null])
    }
  })
})

describe('a rate limit that instances share', () => {
  const shared = { shared: true }

  test('counts down over both of them and both faces, and is spent on both', async ({ service }) => {
    const [one, two] = [await withBudget(service, 20, shared), await withBudget(service, 20, shared)]
    expect(left(await one.send('/v1/pets'))).toBe(19)
    expect(left(await two.send('/graphql', costing(10)))).toBe(9)
    expect(left(await one.send('/graphql', costing(9)))).toBe(0)
    for (const { send } of [one, two, one, two]) {
      const refused = await send('/v1/pets')
      expect(left(refused)).toBe(0)
      await expectSpent(refused)
    }
  })

  test('whose store is lost: each instance counts on alone from what it knew, and one warning says so', async ({
    service,
  }) => {
    const { send, log } = await withBudget(service, 1_000, shared)
    expect(left(await send('/v1/pets'))).toBe(999)
    await query(service, 'ALTER TABLE rate_limit RENAME TO lost')
    const answers = [await send('/v1/pets'), await send('/v1/pets'), await send('/graphql', costing(5))]
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200])
    expect(answers.map(left)).toEqual([998, 997, 992])
    expect(log.lines.filter(({ level }) => level === 40).map(({ msg }) => msg)).toEqual([
      'rate-limit store unavailable, limiting per process',
    ])
    await query(service, 'ALTER TABLE lost RENAME TO rate_limit')
    // The store is not used for a second; then it goes on from what it knew.
    await waitFor(async () => expect(left(await send('/v1/pets'))).toBe(998))
  })

  test('rejects a client that has nothing left without a query to the store', async ({ service }) => {
    const { send } = await withBudget(service, 1, shared)
    expect((await send('/v1/pets')).status).toBe(200)
    await query(service, 'TRUNCATE rate_limit')
    await expectSpent(await send('/v1/pets'))
  })

  test('begins a new window when the clock of the database was set back', async ({ service }) => {
    const { send } = await withBudget(service, 20, shared)
    expect(left(await send('/v1/pets'))).toBe(19)
    await query(service, `UPDATE rate_limit SET expire = expire + ${HOUR_MS}`)
    const response = await send('/v1/pets')
    expect(left(response)).toBe(19)
    expect(parameters(response, 'ratelimit').t).toBeLessThanOrEqual(defaults.windowSeconds)
  })

  test('keeps no windows that are over', async ({ service }) => {
    const { send } = await withBudget(service, 20, shared)
    await send('/v1/pets')
    await query(service, `INSERT INTO rate_limit SELECT 'key:over', 1, expire - ${HOUR_MS} FROM rate_limit`)
    await deleteExpiredWindows(service.database.pool)
    expect((await query(service, 'SELECT key, points FROM rate_limit')).rows).toEqual([{ key: 'key:1', points: 1 }])
  })
})

describe.for([{ shared: false }, { shared: true }])('a budget (%j), when the clock of the machine is set', (store) => {
  test('goes on counting down in its window, and refuses for no longer than that', async ({ service }) => {
    const { send } = await withBudget(service, 3, store)
    const answers = [await send('/v1/pets')]
    for (const ms of [-HOUR_MS, 25 * HOUR_MS, -48 * HOUR_MS]) {
      setClockBy(ms)
      answers.push(await send('/v1/pets'))
    }
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 429])
    expect(answers.map(left)).toEqual([2, 1, 0, 0])
    for (const answer of answers) {
      const { t } = parameters(answer, 'ratelimit')
      expect(t).toBeGreaterThan(0)
      expect(t).toBeLessThanOrEqual(defaults.windowSeconds)
    }
    setClockBy(72 * HOUR_MS)
    await expectSpent(await send('/v1/pets'))
  })

  test('is whole again after its window', async ({ service }) => {
    const { send } = await withBudget(service, 2, { ...store, windowSeconds: 1 })
    await waitFor(async () => expect((await send('/v1/pets')).status).toBe(429))
    setClockBy(-HOUR_MS)
    await waitFor(async () => expect((await send('/v1/pets')).status).toBe(200))
  })
})

test('instances whose clocks differ by a day share one window', async ({ service }) => {
  const [one, two] = [await withBudget(service, 20, { shared: true }), await withBudget(service, 20, { shared: true })]
  const counts = []
  for (const [{ send }, aheadMs] of [
    [one, 0],
    [two, 24 * HOUR_MS],
    [one, -24 * HOUR_MS],
    [two, 24 * HOUR_MS],
  ] as const) {
    setClockBy(aheadMs)
    const response = await send('/v1/pets')
    counts.push(left(response))
    expect(parameters(response, 'ratelimit').t).toBeLessThanOrEqual(defaults.windowSeconds)
  }
  expect(counts).toEqual([19, 18, 17, 16])
})

test('any number of IP addresses takes bounded memory: the most recent ones are counted', async () => {
  const limiter = createRateLimiter({ name: 'test', points: 1, windowSeconds: 60 })
  await limiter.consume('first', 1)
  expect(limiter.peek('first').allowed).toBe(false)
  for (let n = 0; n < MAX_CLIENTS; n++) await limiter.consume(`other ${n}`, 1)
  expect(limiter.peek('first').allowed).toBe(true)
  expect(limiter.peek('other 0').allowed).toBe(false)
})
