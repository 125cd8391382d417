import type { Socket } from 'node:net'
import type { Request } from 'express'
import { clientNetwork } from '../lib/client-network.ts'
import { ApiError } from '../errors.ts'
import { type Caller, callerOf, copyOf, headerValues } from '../http/request.ts'
import { NAMESPACE } from '../project.ts'
import { hashKey, isWellFormedKey, type KeyHash } from './api-keys.ts'
import type { KeyLookup } from './key-lookup.ts'
import type { RateLimiter } from './rate-limit.ts'

const CHALLENGE = `Bearer realm="${NAMESPACE}"`

const unauthenticatedError = (message: string, challenge = `${CHALLENGE}, error="invalid_token"`) =>
  new ApiError('UNAUTHENTICATED', message, { headers: { 'WWW-Authenticate': challenge } })
const missingKeyError = unauthenticatedError('Send an API key: Authorization: Bearer <API_KEY>.', CHALLENGE)
const invalidKeyError = unauthenticatedError('The API key is not valid.')
const invalidTokenError = unauthenticatedError('The access token is not valid, or has expired.')

/** The compact form of a signed token (RFC 7515 §7.1). A key has no dot. */
const ACCESS_TOKEN = /^[\w-]+\.[\w-]+\.[\w-]*$/

export interface AuthenticateDependencies {
  keyLookup: KeyLookup
  failedAuthLimiter: RateLimiter
  recordUse(caller: Caller): void
}

/**
 * Bearer authentication for both APIs (specification §5, RFC 6750): sets `req.caller`. Rejects a request with 401 if it has
 * no valid key, with 429 above the limit of failed authentications of an IP address, and with 503 if the database, or the
 * issuer of a token with an unknown key, is not available.
 */
export function createAuthenticate({ keyLookup, failedAuthLimiter, recordUse }: AuthenticateDependencies) {
  function findCaller(req: Request, token: string): Promise<Caller | undefined> | Caller | undefined {
    const keyHash = keyHashOf(req, token)
    const cached = keyLookup.cached(keyHash)
    if (cached) return cached
    const findByToken = ACCESS_TOKEN.test(token) ? keyLookup.findByToken : undefined
    if (!findByToken && !isWellFormedKey(token)) return undefined // without a query
    if (!keyLookup.wasRecentlyValid(keyHash)) failedAuthLimiter.requirePoint(clientNetwork(req))
    if (!findByToken) return req.deadline.waitFor(() => keyLookup.find(keyHash))
    return findByToken(keyHash, token).catch((error: unknown) => {
      failedAuthLimiter.consume(clientNetwork(req), 1) // any client can send tokens that name unknown keys
      throw error
    })
  }

  return async (req: Request): Promise<void> => {
    const token = bearerToken(req)
    if (token === undefined) throw missingKeyError
    const caller = await findCaller(req, token)
    if (!caller) {
      failedAuthLimiter.consume(clientNetwork(req), 1)
      throw keyLookup.findByToken && ACCESS_TOKEN.test(token) ? invalidTokenError : invalidKeyError
    }
    req.caller = caller
    recordUse(caller)
  }
}

/** The error for a caller who was authenticated before, and whose key or token is no longer valid. */
export function noLongerValidError({ keyId }: Caller): ApiError {
  return keyId ? invalidKeyError : invalidTokenError
}

/** @throws ApiError PERMISSION_DENIED, with all scopes that the caller's key lacks (RFC 6750 §3.1) */
export function requireScope(req: Request, ...scopes: string[]): void {
  const missing = scopes.filter((one) => !callerOf(req).scopes.has(one))
  if (missing.length === 0) return
  const scope = missing.join(' ')
  const headers = { 'WWW-Authenticate': `${CHALLENGE}, error="insufficient_scope", scope="${scope}"` }
  throw new ApiError('PERMISSION_DENIED', `This operation requires the scope ${scope}.`, { headers })
}

/** The last key of each connection: clients send it with each request. To hash it again takes 4 % of a lookup's CPU time. */
const lastKeyByConnection = new WeakMap<Socket, { token: string; keyHash: KeyHash }>()

/** @param token the key or access token of the request @returns its hash */
export function keyHashOf(req: Request, token = bearerToken(req) ?? ''): KeyHash {
  const last = lastKeyByConnection.get(req.socket)
  if (last?.token === token) return last.keyHash
  const keyHash = hashKey(token)
  if (isWellFormedKey(token)) lastKeyByConnection.set(req.socket, { token: copyOf(token), keyHash }) // other tokens may be long
  return keyHash
}

/** The token of the only Authorization header. They are counted here, since `req.headers` has only the first of several. */
function bearerToken(req: Request): string | undefined {
  const values = headerValues(req, 'authorization')
  if (values.length !== 1) return undefined
  return /^Bearer +(\S+) *$/i.exec(values[0] ?? '')?.[1]
}
