import type { Request, Response } from 'express'
import { LRUCache } from 'lru-cache'
import type { Config } from '../config.ts'
import { ApiError } from '../errors.ts'
import { callerOf } from '../http/request.ts'
import type { Limits } from '../limits.ts'

/** A fixed window: it begins with a client's first request, and ends at a time of the monotonic clock. */
type Window = { consumed: number; endsAtMs: number }

/** Bounds the memory that a limiter takes: an attacker may have any number of addresses. */
export const MAX_CLIENTS = 50_000

export type RateLimiter = ReturnType<typeof createRateLimiter>

/** Limits how many points each client may consume in a window. Each process counts for itself, in memory. */
export function createRateLimiter(name: string, points: number, windowSeconds: number, message: string) {
  const windows = new LRUCache<string, Window>({
    maxSize: MAX_CLIENTS, // `max` would allocate arrays of that length at once
    sizeCalculation: () => 1,
  })
  /** Requests that got 429 since the start. */
  const counts = { rejected: 0 }

  function currentWindow(client: string): Window {
    const nowMs = performance.now()
    const window = windows.get(client)
    return window && window.endsAtMs > nowMs ? window : { consumed: 0, endsAtMs: nowMs + windowSeconds * 1_000 }
  }

  /** @throws ApiError RESOURCE_EXHAUSTED unless so many points are left */
  function requirePoints({ consumed, endsAtMs }: Window, cost: number): void {
    if (consumed + cost <= points) return
    counts.rejected++
    const headers = { 'Retry-After': String(Math.max(secondsUntil(endsAtMs), 1)) }
    throw new ApiError('RESOURCE_EXHAUSTED', message, { headers })
  }

  return {
    points,
    counts,
    /** Consumes nothing. @throws ApiError RESOURCE_EXHAUSTED if the client has no point left */
    requirePoint: (client: string): void => requirePoints(currentWindow(client), 1),
    /** Consumes points, and sends the RateLimit headers (draft-ietf-httpapi-ratelimit-headers). @throws as `requirePoint` */
    consume(client: string, cost: number, res?: Response): void {
      const window = currentWindow(client)
      windows.set(client, window)
      const left = points - window.consumed
      const remaining = cost > left ? left : left - cost
      res?.setHeader('RateLimit-Policy', `"${name}";q=${points};w=${windowSeconds}`)
      res?.setHeader('RateLimit', `"${name}";r=${remaining};t=${secondsUntil(window.endsAtMs)}`)
      requirePoints(window, cost)
      window.consumed += cost
    },
  }
}

function secondsUntil(timeMs: number): number {
  return Math.max(Math.ceil((timeMs - performance.now()) / 1_000), 0)
}

/** Consumes the caller's points. A request consumes the first before its body is received, the rest when its cost is known. */
export function consumeQuota(limiter: RateLimiter, req: Request, res: Response, cost: number): void {
  limiter.consume(String(callerOf(req).clientId), cost, res)
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
