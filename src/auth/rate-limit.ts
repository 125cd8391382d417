import type { Response } from 'express'
import { LRUCache } from 'lru-cache'
import type { Config } from '../config/config.ts'
import { ApiError } from '../errors.ts'
import type { Limits } from '../config/limits.ts'

/** Bounds the memory that a limiter takes: an attacker may have any number of addresses. */
export const MAX_CLIENTS = 50_000

export type RateLimiter = ReturnType<typeof createRateLimiter>

/** Limits the points that each client may consume in a window (decision 17). Each process counts for itself, in memory. */
export function createRateLimiter(name: string, points: number, windowSeconds: number, message: string) {
  /** Windows by the id of a client or its network. A window begins with a client's first request, by the monotonic clock. */
  const windows = new LRUCache<bigint | string, { consumed: number }>({
    maxSize: MAX_CLIENTS, // `max` would allocate arrays of that length at once
    sizeCalculation: () => 1,
    ttl: windowSeconds * 1_000,
    ttlResolution: 0, // without a timer for each request
    noUpdateTTL: true,
  })
  /** Requests that got 429 since the start. */
  const counts = { rejected: 0 }

  const secondsLeft = (client: bigint | string) => Math.max(Math.ceil(windows.getRemainingTTL(client) / 1_000), 0)

  /** @throws ApiError RESOURCE_EXHAUSTED unless the client has `cost` points left */
  function requirePoints(client: bigint | string, cost: number, consumed = windows.get(client)?.consumed ?? 0): void {
    if (consumed + cost <= points) return
    counts.rejected++
    const headers = { 'Retry-After': String(Math.max(secondsLeft(client), 1)) }
    throw new ApiError('RESOURCE_EXHAUSTED', message, { headers })
  }

  return {
    points,
    counts,
    /** Consumes nothing. @throws ApiError RESOURCE_EXHAUSTED if the client has no point left */
    requirePoint: (client: bigint | string): void => requirePoints(client, 1),
    /** Consumes points, and sends the RateLimit headers (draft-ietf-httpapi-ratelimit-headers). @throws as `requirePoint` */
    consume(client: bigint | string, cost: number, res?: Response): void {
      const window = windows.get(client) ?? { consumed: 0 }
      windows.set(client, window)
      const left = points - window.consumed
      const remaining = cost > left ? left : left - cost
      res?.setHeader('RateLimit-Policy', `"${name}";q=${points};w=${windowSeconds}`)
      res?.setHeader('RateLimit', `"${name}";r=${remaining};t=${secondsLeft(client)}`)
      requirePoints(client, cost, window.consumed)
      window.consumed += cost
    },
  }
}

/** The rate limiters of clients, undefined if RATE_LIMIT_POINTS is 0, and of failed authentications. */
export function createRateLimiters({ RATE_LIMIT_POINTS: points }: Config, limits: Limits) {
  const { rateLimitWindowS: windowSeconds, failedAuthentications } = limits
  const exceeded = `Rate limit exceeded: ${points} points per ${windowSeconds} seconds.`
  const tooManyFailures = 'Too many failed authentication attempts from this IP address.'
  return {
    clientLimiter: points ? createRateLimiter('key', points, windowSeconds, exceeded) : undefined,
    failedAuthLimiter: createRateLimiter('wrong-keys', failedAuthentications, windowSeconds, tooManyFailures),
  }
}
