import type { ErrorRequestHandler, Request, Response } from 'express'
import { ApiError } from '../errors.ts'
import { callerOf } from '../http/request.ts'
import type { RateLimiter, RateLimitState } from './rate-limiter.ts'

/** @throws ApiError RESOURCE_EXHAUSTED for a caller without points, before the cost of the request is known */
export function requireQuota(limiter: RateLimiter, req: Request, res: Response): void {
  const state = limiter.peek(String(callerOf(req).clientId))
  if (!state.allowed) enforceQuota(limiter, req, res, state)
}

/** Consumes one point for a request that failed before its cost was consumed: so a flood of them is limited. */
export function rateLimitFailures(limiter: RateLimiter | undefined): ErrorRequestHandler {
  return (error, req, res, next) => {
    if (limiter && req.caller && !req.rateLimit) consumeQuota(limiter, req, res, 1)
    next(error)
  }
}

/**
 * Consumes points of the caller's quota.
 * @throws ApiError RESOURCE_EXHAUSTED when there are not enough; this consumes one point
 */
export function consumeQuota(limiter: RateLimiter, req: Request, res: Response, cost: number): void {
  enforceQuota(limiter, req, res, limiter.consume(String(callerOf(req).clientId), cost))
}

/** Sends the RateLimit headers (draft-ietf-httpapi-ratelimit-headers). @throws ApiError RESOURCE_EXHAUSTED if exceeded */
function enforceQuota(limiter: RateLimiter, req: Request, res: Response, state: RateLimitState): void {
  const { name, points, windowSeconds } = limiter
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
