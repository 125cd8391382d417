import type { Request, Response } from 'express'
import { ApiError } from '../errors.ts'
import { callerOf } from '../http/request.ts'
import type { RateLimiter, RateLimitState } from './rate-limiter.ts'

/**
 * Consumes points of the caller's quota, and sends the RateLimit headers (draft-ietf-httpapi-ratelimit-headers). Each
 * request consumes its first point before its body is received, and the rest of its cost when that is known.
 * @throws ApiError RESOURCE_EXHAUSTED when there are not enough; this consumes none
 */
export function consumeQuota(limiter: RateLimiter, req: Request, res: Response, cost: number): void {
  const { name, points, windowSeconds } = limiter
  const state = limiter.consume(String(callerOf(req).clientId), cost)
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
