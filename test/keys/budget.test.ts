import { describe, expect, vi } from 'vitest'
import { loadConfig } from '../../src/config.ts'
import { onServer, type Running, test } from '../harness.ts'

const defaults = loadConfig({}).budgets
const withBudget = (running: Running, points: number, more = {}) =>
  running.another({ budgets: { ...defaults, points, ...more } })

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

async function expectSpent(response: Response): Promise<void> {
  const { t } = parameters(response, 'ratelimit')
  expect([response.status, response.headers.get('retry-after')]).toEqual([429, String(t)])
  expect(await response.text()).toMatch(/"code":"RESOURCE_EXHAUSTED".*"status":429/)
}

describe('the budget of a key', () => {
  test('is one for both faces: a REST call costs 1, a GraphQL operation its cost; the headers count down', async ({
    running,
  }) => {
    const { send } = await withBudget(running, 100)
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

  test('once spent, is 429 with Retry-After on both faces, before path and body are looked at', async ({ running }) => {
    const { send, post } = await withBudget(running, 3)
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

  test('too small for an operation refuses it for 1 point, and the rest can still be spent', async ({ running }) => {
    const { send } = await withBudget(running, 10)
    const refused = await send('/graphql', costing(50))
    expect(left(refused)).toBe(9)
    await expectSpent(refused)
    expect(left(await send('/graphql', costing(9)))).toBe(0)
  })

  test('of several operations at once runs those that it has points for', async ({ running }) => {
    const { send } = await withBudget(running, 100)
    await send('/v1/pets')
    const answers = await Promise.all(Array.from({ length: 5 }, () => send('/graphql', costing(40))))
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 429, 429, 429])
  })

  test('is whole again after its window', async ({ running }) => {
    const { send } = await withBudget(running, 2, { windowSeconds: 1 })
    await vi.waitFor(async () => expect((await send('/v1/pets')).status).toBe(429), { interval: 1 })
    await vi.waitFor(async () => expect((await send('/v1/pets')).status).toBe(200), { timeout: 5_000 })
  })

  test('is each key’s own, and nobody’s without a key', async ({ running }) => {
    const { send, base } = await withBudget(running, 1)
    const other = await running.service.keys.issue('other')
    expect((await send('/v1/pets')).status).toBe(200)
    expect((await send('/v1/pets')).status).toBe(429)
    expect((await send('/v1/pets', { headers: { Authorization: `Bearer ${other}` } })).status).toBe(200)
    const nobody = await fetch(`${base}/v1/pets`)
    expect([nobody.status, nobody.headers.get('ratelimit')]).toEqual([401, null])
  })

  test('of 0 is none: no header, no limit', async ({ running }) => {
    const { send } = await withBudget(running, 0)
    for (const answer of [await send('/v1/pets'), await send('/graphql', costing(50))]) {
      expect(answer.status).toBe(200)
      expect([answer.headers.get('ratelimit'), answer.headers.get('ratelimit-policy')]).toEqual([null, null])
    }
  })
})

describe('a budget that instances share', () => {
  const shared = { shared: true }

  test('counts down over both of them and both faces, and is spent on both', async ({ running }) => {
    const [one, two] = [await withBudget(running, 20, shared), await withBudget(running, 20, shared)]
    expect(left(await one.send('/v1/pets'))).toBe(19)
    expect(left(await two.send('/graphql', costing(10)))).toBe(9)
    expect(left(await one.send('/graphql', costing(9)))).toBe(0)
    for (const { send } of [one, two, one, two]) {
      const refused = await send('/v1/pets')
      expect(left(refused)).toBe(0)
      await expectSpent(refused)
    }
  })

  test('whose store is lost: all goes on, each instance counts alone, and one warning says so', async ({ running }) => {
    const { send, log } = await withBudget(running, 20, shared)
    expect(left(await send('/v1/pets'))).toBe(19)
    await onServer(
      (client) => client.query('ALTER TABLE rate_limit RENAME TO lost'),
      new URL(running.databaseUrl).pathname.slice(1),
    )
    const answers = [await send('/v1/pets'), await send('/v1/pets'), await send('/graphql', costing(5))]
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200])
    expect(answers.map(left)).toEqual([19, 18, 13])
    expect(log.lines.filter(({ level }) => level === 40).map(({ msg }) => msg)).toEqual([
      'budgets are not shared: their store is lost',
    ])
    await onServer(
      (client) => client.query('ALTER TABLE lost RENAME TO rate_limit'),
      new URL(running.databaseUrl).pathname.slice(1),
    )
    // It is left alone for a second; then it goes on from what it knew.
    await vi.waitFor(async () => expect(left(await send('/v1/pets'))).toBe(18), 5_000)
  })
})
