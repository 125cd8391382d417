import type { Request, RequestHandler, Response } from 'express'
import { ApiError } from '../errors.ts'
import { callerOf } from '../http/request.ts'
import type { RateLimiter, RateLimitState } from './rate-limiter.ts'

/** Consumes one point of the caller's quota; after `authenticate`. Does nothing without a limiter. */
export function rateLimit(limiter: RateLimiter | undefined): RequestHandler {
  return async (req, res, next) => {
    if (limiter) await consumeQuota(limiter, req, res, 1)
    next()
  }
}

/**
 * Consumes points of the caller's quota, and sends what is left in the RateLimit headers
 * (draft-ietf-httpapi-ratelimit-headers). A cost that is known to exceed what is left consumes nothing.
 * @throws ApiError RESOURCE_EXHAUSTED when there are not enough
 */
export async function consumeQuota(limiter: RateLimiter, req: Request, res: Response, cost: number): Promise<void> {
  const { name, points, windowSeconds } = limiter
  const known = req.rateLimit
  const state =
    known && cost > known.remaining
      ? { ...known, allowed: false }
      : await limiter.consume(String(callerOf(req).clientId), cost)
  req.rateLimit = state
  res.setHeader('RateLimit-Policy', `"${name}";q=${points};w=${windowSeconds}`)
  res.setHeader('RateLimit', `"${name}";r=${state.remaining};t=${Math.ceil(state.resetMs / 1000)}`)
  throwIfExceeded(limiter, state, `Rate limit exceeded: ${points} points per ${windowSeconds} seconds.`)
}

/** @throws ApiError RESOURCE_EXHAUSTED, with Retry-After, unless the state says allowed */
export function throwIfExceeded(limiter: RateLimiter, { allowed, resetMs }: RateLimitState, message: string): void {
  if (allowed) return
  limiter.counts.rejected++
  const headers = { 'Retry-After': String(Math.max(Math.ceil(resetMs / 1000), 1)) }
  throw new ApiError('RESOURCE_EXHAUSTED', message, { headers })
}
