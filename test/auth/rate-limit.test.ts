import { once } from 'node:events'
import { describe, expect, onTestFinished, vi } from 'vitest'
import { createRateLimiter, MAX_CLIENTS } from '../../src/auth/rate-limit.ts'
import { bearer, testWithSharedService as test } from '../support/harness.ts'
import { openSocket, rawPost } from '../support/raw-http.ts'
import { stopClock } from '../support/timeouts.ts'

const WINDOW_S = 60

const queryOfCost = (cost: number) => ({ query: `{ pets(first: ${cost}) { nodes { id } } }` })

/** Parses RateLimit: a structured field (RFC 9651) of one string with parameters. Expects that the window ends in time. */
function limitOf(response: Response): { remaining: number; seconds: number } {
  const [, remaining, seconds] = /^"key";r=(\d+);t=(\d+)$/.exec(response.headers.get('ratelimit') ?? '') ?? []
  expect(Number(seconds)).toBeGreaterThan(0)
  expect(Number(seconds)).toBeLessThanOrEqual(WINDOW_S)
  return { remaining: Number(remaining), seconds: Number(seconds) }
}

const remaining = (response: Response) => limitOf(response).remaining

async function expectLimited(response: Response): Promise<void> {
  const { seconds } = limitOf(response)
  expect([response.status, response.headers.get('retry-after')]).toEqual([429, String(seconds)])
  expect(await response.text()).toMatch(/"code":"RESOURCE_EXHAUSTED".*"status":429/)
}

describe('the rate limit of a key', () => {
  test('is shared by both APIs: REST costs a point, an operation its cost; headers count down', async ({ service }) => {
    const { send, postGraphQL } = await service.startPeer({ RATE_LIMIT_POINTS: 100 })
    const responses = [
      await send('/v1/pets'),
      await postGraphQL(queryOfCost(30)),
      await send('/v1/pets/1'),
      await send('/v1/nothing'),
      await postGraphQL('{'),
      await postGraphQL(queryOfCost(20)),
      await send('/v1/pets', { method: 'HEAD' }),
    ]
    expect(responses.map(remaining)).toEqual([99, 69, 68, 67, 66, 46, 45])
    for (const { headers } of responses) expect(headers.get('ratelimit-policy')).toBe(`"key";q=100;w=${WINDOW_S}`)
  })

  test('once exhausted, is 429 with Retry-After in both APIs, before path and body are validated, and counted; not for other keys, nor without one [W5]', async ({
    service,
  }) => {
    const { base, send, postGraphQL, post, metric } = await service.startPeer({ RATE_LIMIT_POINTS: 3 })
    await postGraphQL(queryOfCost(3))
    const query = queryOfCost(1)
    for (const response of [await send('/v1/pets'), await postGraphQL(query), await post('{'), await send('/v1/x')]) {
      expect(remaining(response)).toBe(0)
      await expectLimited(response)
    }
    expect(await metric('petstore_rate_limited_total{budget="key"}')).toBe(4)
    const other = bearer(await service.keys.issue('other'))
    expect((await send('/v1/pets', { headers: other })).status).toBe(200)
    const anonymous = await fetch(`${base}/v1/pets`)
    expect([anonymous.status, anonymous.headers.get('ratelimit')]).toEqual([401, null])
  })

  test('is consumed before the body is received, in both APIs', async ({ service }) => {
    const { port, key, send } = await service.startPeer({ RATE_LIMIT_POINTS: 2 })
    for (const path of ['/v1/pets', '/graphql']) {
      const socket = openSocket(port, rawPost({ path, key, lines: ['Expect: 100-continue', 'Content-Length: 99'] }))
      expect(String((await once(socket, 'data'))[0])).toMatch(/^HTTP\/1\.1 100 /)
    }
    await expectLimited(await send('/v1/pets'))
  })

  test('rejects an operation above the remaining points, for 1 point, but not a cheaper one', async ({ service }) => {
    const { postGraphQL } = await service.startPeer({ RATE_LIMIT_POINTS: 60 })
    await postGraphQL(queryOfCost(20))
    const rejected = await postGraphQL(queryOfCost(50))
    expect(remaining(rejected)).toBe(39)
    await expectLimited(rejected)
    expect(remaining(await postGraphQL(queryOfCost(39)))).toBe(0)
  })

  test('serves the one of twenty concurrent operations that fits', async ({ service }) => {
    // Each consumes one point, and one of them its rest.
    const { postGraphQL } = await service.startPeer({ RATE_LIMIT_POINTS: 20 + 19 })
    const responses = await Promise.all(Array.from({ length: 20 }, () => postGraphQL(queryOfCost(20))))
    expect(responses.filter(({ status }) => status === 200)).toHaveLength(1)
  })

  test('of 0 is disabled: no headers and no limit', async ({ service }) => {
    const { send, postGraphQL } = await service.startPeer({ RATE_LIMIT_POINTS: 0 })
    for (const response of [await send('/v1/pets'), await postGraphQL(queryOfCost(50))]) {
      expect(response.status).toBe(200)
      expect([response.headers.get('ratelimit'), response.headers.get('ratelimit-policy')]).toEqual([null, null])
    }
  })
})

test('a rate limit counts down until the end of its window, however the clock of the machine is changed', async ({
  service,
}) => {
  const clock = stopClock() // the monotonic one
  onTestFinished(() => void vi.useRealTimers())
  const { send } = await service.startPeer({ RATE_LIMIT_POINTS: 3 })
  const responses = []
  for (const hours of [0, -1, 25, -48, 72]) {
    vi.setSystemTime(Date.now() + hours * 3_600_000)
    responses.push(await send('/v1/pets'))
    clock.advance(10_000)
  }
  expect(responses.map(({ status }) => status)).toEqual([200, 200, 200, 429, 429])
  expect(responses.map(remaining)).toEqual([2, 1, 0, 0, 0])
  clock.advance(10_001)
  expect((await send('/v1/pets')).status).toBe(200)
})

test('memory is bounded for any number of IP addresses: only the most recent ones are counted', () => {
  const limiter = createRateLimiter('test', 1, 60, 'Too many.')
  limiter.consume('first', 1)
  expect(() => limiter.requirePoint('first')).toThrow('Too many.')
  for (let n = 0; n < MAX_CLIENTS; n++) limiter.consume(`other ${n}`, 1)
  limiter.requirePoint('first')
  expect(() => limiter.requirePoint('other 0')).toThrow('Too many.')
})
