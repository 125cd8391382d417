import { randomUUID } from 'node:crypto'
import type { NextFunction, Request, RequestHandler, Response } from 'express'
import { ApiError } from '../errors.ts'
import { createDeadline, type Deadline } from '../http/deadline.ts'
import type { RateLimiter, RateLimitState } from './rate-limiter.ts'
import type { Caller, ApiKeys, Scope } from './api-keys.ts'

export type { Caller }

declare module 'express-serve-static-core' {
  interface Request {
    /** Names the request in the log and to the client (`X-Request-Id`). */
    id: string
    /** How long the request may wait for the database, and how long it has. */
    deadline: Deadline
    /** What is left of the caller's quota, where there is one. */
    rateLimit?: RateLimitState
    /** Who is calling; there is one wherever `requireKey` stands before. */
    caller?: Caller
  }
}

const realm = 'Bearer realm="petstore"'

/**
 * First of all: a request id, the client's own when it is sane, and headers that are right for every answer.
 * @param handlerTimeoutMs longest that the request may wait for the database
 */
export function beginRequest(handlerTimeoutMs: number): RequestHandler {
  return (req, res, next) => {
    const given = req.headers['x-request-id']
    req.id = typeof given === 'string' && /^[\w.:-]{1,128}$/.test(given) ? given : randomUUID()
    req.deadline = createDeadline(handlerTimeoutMs)
    res.setHeader('X-Request-Id', req.id)
    res.setHeader('Cache-Control', 'no-store')
    res.setHeader('X-Content-Type-Options', 'nosniff')
    next()
  }
}

interface AuthenticateDependencies {
  keys: ApiKeys
  /** Limits the failed authentications of an IP address; unlimited when there is none. */
  wrongKeys?: RateLimiter | undefined
  /** Told of every call with a valid key. */
  noteUse(caller: Caller): void
}

/**
 * The one bearer-auth context, for both faces (specification §5, RFC 6750).
 * Sends 401 without a valid key, 429 when the IP address exceeded the limit of failed authentications and the key was
 * not valid at its last lookup, and 503 when the database that knows the keys does not answer.
 */
export function requireKey({ keys, wrongKeys, noteUse }: AuthenticateDependencies) {
  return async (req: Request, _res: Response, next: NextFunction): Promise<void> => {
    const token = bearerToken(req)
    if (token === undefined) throw noKey
    const caller = await keys.verify(token, async (find, wasGood) => {
      if (wrongKeys && !wasGood) throwIfExceeded(wrongKeys, wrongKeys.peek(clientNetwork(req)), tooManyFailures)
      return req.deadline.run(find)
    })
    if (!caller) {
      if (wrongKeys) throwIfExceeded(wrongKeys, await wrongKeys.consume(clientNetwork(req), 1), tooManyFailures)
      throw wrongKey
    }
    req.caller = caller
    noteUse(caller)
    next()
  }
}

// Made once: for each request its stack trace would be much of what a refusal costs.
const noKey = new ApiError('UNAUTHENTICATED', 'Send an API key: Authorization: Bearer <API_KEY>.', {
  headers: { 'WWW-Authenticate': realm },
})
const wrongKey = new ApiError('UNAUTHENTICATED', 'The API key is not valid.', {
  headers: { 'WWW-Authenticate': `${realm}, error="invalid_token"` },
})

const tooManyFailures = 'Too many failed authentication attempts from this IP address.'

/** The client, to the limiter of failed authentications: its IP address; of IPv6 the /64 network, which is one client's. */
function clientNetwork({ ip = '' }: Request): string {
  if (!ip.includes(':') || ip.includes('.')) return ip
  const [head = '', tail] = ip.split('::')
  const groups = head ? head.split(':') : []
  const end = tail ? tail.split(':') : []
  const zeros = tail === undefined ? [] : Array<string>(8 - groups.length - end.length).fill('0')
  return [...groups, ...zeros, ...end].slice(0, 4).join(':')
}

/** Consumes one point of the caller's quota, before anything else is looked at. */
export function requireBudget(limiter: RateLimiter | undefined): RequestHandler {
  return async (req, res, next) => {
    if (limiter) await spend(limiter, req, res, 1)
    next()
  }
}

/**
 * Consumes points of the caller's quota, and sends what is left in the RateLimit headers
 * (draft-ietf-httpapi-ratelimit-headers). A cost that is known to exceed what is left consumes nothing.
 * @throws ApiError RESOURCE_EXHAUSTED when there are not enough
 */
export async function spend(limiter: RateLimiter, req: Request, res: Response, cost: number): Promise<void> {
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

function throwIfExceeded(limiter: RateLimiter, { allowed, resetMs }: RateLimitState, message: string): void {
  if (allowed) return
  limiter.rejected++
  const headers = { 'Retry-After': String(Math.max(Math.ceil(resetMs / 1000), 1)) }
  throw new ApiError('RESOURCE_EXHAUSTED', message, { headers })
}

/**
 * Refuses a caller whose key lacks the scope (RFC 6750 §3.1).
 * @throws ApiError PERMISSION_DENIED
 */
export function requireScope(req: Request, scope: Scope): void {
  if (callerOf(req).scopes.has(scope)) return
  const headers = { 'WWW-Authenticate': `${realm}, error="insufficient_scope", scope="${scope}"` }
  throw new ApiError('PERMISSION_DENIED', `This takes a key with the scope ${scope}.`, { headers })
}

/** `requireScope` for all requests of a route, behind `requireKey`. */
export function scopeMiddleware(scope: Scope): RequestHandler {
  return (req, _res, next) => {
    requireScope(req, scope)
    next()
  }
}

/** Who is calling, behind `requireKey`. */
export function callerOf(req: Request): Caller {
  if (!req.caller) throw new Error('callerOf was used where requireKey does not stand before')
  return req.caller
}

/** The token of the one Authorization header. Node keeps only the first of several, so the raw ones are counted. */
function bearerToken(req: Request): string | undefined {
  const values = req.headersDistinct.authorization
  if (values?.length !== 1) return undefined
  return /^Bearer +(\S+) *$/i.exec(values[0] ?? '')?.[1]
}
