import type { ErrorRequestHandler, Request, RequestHandler, Response } from 'express'
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

/** Rejects a request of a caller that has no points left; after `authenticate`, where the cost is known later. */
export function requireQuota(limiter: RateLimiter | undefined): RequestHandler {
  return (req, res, next) => {
    const state = limiter?.peek(String(callerOf(req).clientId))
    if (limiter && state && !state.allowed) report(limiter, req, res, state)
    next()
  }
}

/** Consumes one point for a request that failed before its cost was consumed: a flood of them is limited, too. */
export async function consumeForFailure(limiter: RateLimiter | undefined, req: Request, res: Response): Promise<void> {
  if (limiter && req.caller && !req.rateLimit) await consumeQuota(limiter, req, res, 1)
}

export function rateLimitFailures(limiter: RateLimiter | undefined): ErrorRequestHandler {
  return async (error, req, res, next) => {
    await consumeForFailure(limiter, req, res)
    next(error)
  }
}

/**
 * Consumes points of the caller's quota.
 * @throws ApiError RESOURCE_EXHAUSTED when there are not enough; this consumes one point
 */
export async function consumeQuota(limiter: RateLimiter, req: Request, res: Response, cost: number): Promise<void> {
  report(limiter, req, res, await limiter.consume(String(callerOf(req).clientId), cost))
}

/** Sends what is left in the RateLimit headers (draft-ietf-httpapi-ratelimit-headers). */
function report(limiter: RateLimiter, req: Request, res: Response, state: RateLimitState): void {
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
