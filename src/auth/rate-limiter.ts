import { LRUCache } from 'lru-cache'
import type { Config } from '../config.ts'
import type { Limits } from '../limits.ts'

export interface RateLimitState {
  allowed: boolean
  remaining: number
  /** Time until the window ends and the quota is replenished. */
  resetMs: number
}

interface RateLimiterOptions {
  name: string
  points: number
  windowSeconds: number
}

export type RateLimiter = ReturnType<typeof createRateLimiter>

/** A fixed window: it begins with a client's first request. */
interface Window {
  consumed: number
  /** A time of the monotonic clock of this process. */
  endsAtMs: number
}

/** Bounds the memory that a limiter takes: an attacker may have any number of addresses. */
export const MAX_CLIENTS = 50_000

/**
 * Limits how many points each client may consume in a fixed window, which begins with its first request. Each process
 * counts for itself, in memory.
 */
export function createRateLimiter({ name, points, windowSeconds }: RateLimiterOptions) {
  const windows = new LRUCache<string, Window>({
    maxSize: MAX_CLIENTS, // `max` would allocate arrays of that length at once
    sizeCalculation: () => 1,
  })

  function currentWindow(client: string): Window {
    const nowMs = performance.now()
    const window = windows.get(client)
    return window && window.endsAtMs > nowMs ? window : { consumed: 0, endsAtMs: nowMs + windowSeconds * 1_000 }
  }

  return {
    name,
    points,
    windowSeconds,
    /** Requests that got 429 since the start; counted by those who throw it. */
    counts: { rejected: 0 },
    /** Consumes points of a client's quota, and none if there are not enough. @param cost in points, at least 1 */
    consume(client: string, cost: number): RateLimitState {
      const window = currentWindow(client)
      const allowed = window.consumed + cost <= points
      if (allowed) window.consumed += cost
      windows.set(client, window)
      return toState(window, points, allowed)
    },
    /** What a client has left; consumes nothing. */
    peek(client: string): RateLimitState {
      const window = currentWindow(client)
      return toState(window, points, window.consumed < points)
    },
  }
}

function toState({ consumed, endsAtMs }: Window, points: number, allowed: boolean): RateLimitState {
  return { allowed, remaining: Math.max(points - consumed, 0), resetMs: Math.max(endsAtMs - performance.now(), 0) }
}

/** The rate limiters of clients, undefined without RATE_LIMIT_POINTS, and of failed authentications. */
export function createRateLimiters({ RATE_LIMIT_POINTS: points }: Config, limits: Limits) {
  const { rateLimitWindowS: windowSeconds, failedAuthentications } = limits
  return {
    keyLimiter: points ? createRateLimiter({ name: 'key', points, windowSeconds }) : undefined,
    failedAuthLimiter: createRateLimiter({ name: 'wrong-keys', points: failedAuthentications, windowSeconds }),
  }
}
