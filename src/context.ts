import { randomUUID } from 'node:crypto'
import type { NextFunction, Request, RequestHandler, Response } from 'express'
import { ApiError } from './errors.ts'
import { RequestTime } from './http/request-time.ts'
import type { Balance, Budget } from './keys/budget.ts'
import type { Caller, Keys, Scope } from './keys/service.ts'

export type { Caller }

declare module 'express-serve-static-core' {
  interface Request {
    /** Names the request in the log and to the client (`X-Request-Id`). */
    id: string
    /** How long it takes, and how long it may. */
    time: RequestTime
    /** What is left of the caller's budget, where there is one. */
    balance?: Balance
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
    req.time = new RequestTime(handlerTimeoutMs)
    res.setHeader('X-Request-Id', req.id)
    res.setHeader('Cache-Control', 'no-store')
    res.setHeader('X-Content-Type-Options', 'nosniff')
    next()
  }
}

interface KeyParts {
  keys: Keys
  /** How many wrong keys an address may send; any number when there is none. */
  wrongKeys?: Budget | undefined
  /** Told of every call with a valid key. */
  noteUse(caller: Caller): void
}

/**
 * The one bearer-auth context, for both faces (specification §5, RFC 6750).
 * Answers 401 without a valid key, 429 to an address that has sent too many wrong ones and now one that was not seen to
 * be good before, and 503 when the database that knows the keys cannot be asked.
 */
export function requireKey({ keys, wrongKeys, noteUse }: KeyParts) {
  return async (req: Request, _res: Response, next: NextFunction): Promise<void> => {
    const token = bearerToken(req)
    if (token === undefined) throw noKey
    const caller = await keys.verify(token, async (find, wasGood) => {
      if (wrongKeys && !wasGood) refuseBeyond(wrongKeys, await wrongKeys.balance(addressOf(req)), tooManyWrongKeys)
      return req.time.database(find)
    })
    if (!caller) {
      if (wrongKeys) refuseBeyond(wrongKeys, await wrongKeys.spend(addressOf(req), 1), tooManyWrongKeys)
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

const tooManyWrongKeys = 'Too many wrong keys came from this address.'

/** Who the client is to the budget of wrong keys: its address; of an IPv6 address the network, which is one client's. */
function addressOf({ ip = '' }: Request): string {
  if (!ip.includes(':') || ip.includes('.')) return ip
  const [head = '', tail] = ip.split('::')
  const groups = head ? head.split(':') : []
  const end = tail ? tail.split(':') : []
  const zeros = tail === undefined ? [] : Array<string>(8 - groups.length - end.length).fill('0')
  return [...groups, ...zeros, ...end].slice(0, 4).join(':')
}

/** Takes a point of the caller's budget, before anything else is looked at. */
export function requireBudget(budget: Budget | undefined): RequestHandler {
  return async (req, res, next) => {
    if (budget) await spend(budget, req, res, 1)
    next()
  }
}

/**
 * Takes points of the caller's budget, none if it is known to have too few, and says in the answer what is left (draft-ietf-httpapi-ratelimit-headers).
 * @throws ApiError RESOURCE_EXHAUSTED when there are not enough
 */
export async function spend(budget: Budget, req: Request, res: Response, points: number): Promise<void> {
  const left = req.balance
  const balance =
    left && points > left.remaining
      ? { ...left, granted: false }
      : await budget.spend(String(callerOf(req).clientId), points)
  req.balance = balance
  const resetSeconds = Math.ceil(balance.resetMs / 1000)
  res.setHeader('RateLimit-Policy', `"${budget.name}";q=${budget.points};w=${budget.windowSeconds}`)
  res.setHeader('RateLimit', `"${budget.name}";r=${balance.remaining};t=${resetSeconds}`)
  refuseBeyond(
    budget,
    balance,
    `The budget of this key is spent: ${budget.points} points in ${budget.windowSeconds} seconds.`,
  )
}

function refuseBeyond(budget: Budget, { granted, resetMs }: Balance, message: string): void {
  if (granted) return
  budget.refused++
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
