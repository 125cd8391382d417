import { hash } from 'node:crypto'
import { Readable } from 'node:stream'
import { text as readText } from 'node:stream/consumers'
import type { ReadableStream } from 'node:stream/web'
import type { JWTPayload, JWTVerifyGetKey } from 'jose' // loaded at the first token
import type { Config } from '../config/config.ts'
import { ApiError } from '../errors.ts'
import type { Caller } from '../http/request.ts'
import type { Observe } from '../telemetry/observation.ts'
import { METRICS_SCOPE } from './api-keys.ts'

/** All of them are asymmetric: with HS256 the issuer's public key would be the secret (RFC 8725 §2.1). */
const ALGORITHMS = ['RS256', 'PS256', 'ES256', 'EdDSA']

/** Issuers send the type `at+jwt` (RFC 9068 §2.1), `JWT` or none. Other types have other rules (RFC 8725 §3.12). */
const TYPE = /^((application\/)?at\+)?jwt$/i

/** How far the issuer's clock may be ahead, in seconds. Tokens expire by our clock, without this tolerance. */
const CLOCK_TOLERANCE_S = 60

/** Keys that are older than this are fetched again, so that keys that the issuer has removed are forgotten. */
const MAX_KEYS_AGE_MS = 600_000

/** Keys are fetched at most once in this time, even if the issuer does not respond: any client may name an unknown key. */
const COOL_DOWN_MS = 10_000
const FETCH_TIMEOUT_MS = 3_000

/**
 * @returns a function that verifies an access token (RFC 9068, RFC 8725, decision 31); undefined without an issuer. The
 *   function returns the caller, or undefined if the token is not valid. It throws ApiError UNAVAILABLE while the token's
 *   key is unknown and cannot be fetched
 */
export function createVerifyToken({ OIDC_ISSUER, OIDC_AUDIENCE }: Config, observe: Observe, now: () => Date) {
  if (!OIDC_ISSUER || !OIDC_AUDIENCE) return undefined
  const findKey = createFindKey(OIDC_ISSUER, observe)
  const options = {
    algorithms: ALGORITHMS,
    issuer: OIDC_ISSUER,
    audience: OIDC_AUDIENCE,
    requiredClaims: ['exp', 'sub'],
    clockTolerance: CLOCK_TOLERANCE_S,
  }

  return async (token: string): Promise<Caller | undefined> => {
    const { jwtVerify } = await import('jose')
    try {
      const { payload, protectedHeader } = await jwtVerify(token, findKey, { ...options, currentDate: now() })
      if (!TYPE.test(protectedHeader.typ ?? 'JWT')) throw new Error('typ')
      if (Number(payload.exp) * 1_000 <= now().getTime()) throw new Error('exp')
      return toCaller(OIDC_ISSUER, payload)
    } catch (error) {
      if (error instanceof ApiError) throw error
      const { claim, code, message } = error as Error & { claim?: string; code?: string } // of jose, or thrown above
      // The messages of jose may contain what a client has sent.
      observe({ type: 'token-rejected', reason: claim ?? code ?? message })
      return undefined
    }
  }
}

function toCaller(issuer: string, { sub, exp = 0, scope, scp }: JWTPayload): Caller {
  if (typeof sub !== 'string' || sub === '') throw new Error('sub')
  const subject = hash('sha256', `${issuer} ${sub}`, 'buffer')
  const granted = [scope ?? scp ?? []].flat().join(' ').split(' ')
  return {
    keyId: undefined,
    // Negative, unlike the ids of keys. The chance that any two of a million subjects have the same other 63 bits is 1 in
    // 18 million. Two such subjects would share a rate limit, and an Idempotency-Key if both choose the same.
    clientId: subject.readBigInt64BE() | -(2n ** 63n),
    keyPrefix: 'token',
    subject: subject.toString('hex', 0, 8),
    scopes: new Set(granted.filter((scope) => scope !== METRICS_SCOPE)),
    expiresAt: new Date(exp * 1_000),
  }
}

/**
 * @returns a function that finds the key of a token. jose's remote key set (6.2) cools down only after a success, and
 *   meanwhile rejects tokens with unknown keys. Code around it that mends both would be no shorter
 */
function createFindKey(issuer: string, observe: Observe): JWTVerifyGetKey {
  let findKnown: JWTVerifyGetKey | undefined
  let fetching: Promise<JWTVerifyGetKey> | undefined
  let beganAtMs = -Infinity
  let fetchedAtMs = -Infinity

  async function fetchNow(): Promise<JWTVerifyGetKey> {
    beganAtMs = performance.now()
    try {
      findKnown = await fetchKeys(issuer)
      fetchedAtMs = performance.now()
      return findKnown
    } catch (error) {
      // The message of fetch's error says only that it failed; its cause says why.
      observe({ type: 'issuer-failed', error: error instanceof Error && error.cause ? error.cause : error })
      throw notVerifiableError(COOL_DOWN_MS)
    } finally {
      fetching = undefined
    }
  }

  /** @throws ApiError UNAVAILABLE if the issuer does not respond, or the last fetch began less than COOL_DOWN_MS ago */
  async function refresh(): Promise<JWTVerifyGetKey> {
    const waitMs = beganAtMs + COOL_DOWN_MS - performance.now()
    if (!fetching && waitMs > 0) throw notVerifiableError(waitMs)
    return (fetching ??= fetchNow())
  }

  return async (header, token) => {
    if (performance.now() - fetchedAtMs > MAX_KEYS_AGE_MS) refresh().catch(() => {}) // meanwhile the known keys are used
    try {
      if (findKnown) return await findKnown(header, token)
    } catch (error) {
      if ((error as { code?: string }).code !== 'ERR_JWKS_NO_MATCHING_KEY') throw error
    }
    return (await refresh())(header, token)
  }
}

function notVerifiableError(retryAfterMs: number): ApiError {
  const headers = { 'Retry-After': String(Math.ceil(retryAfterMs / 1_000)) }
  return new ApiError('UNAVAILABLE', 'The access token cannot be verified now. Nothing was changed.', { headers })
}

/** Reads the issuer's metadata (OpenID Connect Discovery §4), then its keys. */
async function fetchKeys(issuer: string): Promise<JWTVerifyGetKey> {
  const { createLocalJWKSet } = await import('jose')
  const signal = AbortSignal.timeout(FETCH_TIMEOUT_MS)
  const read = async (url: string) => {
    const response = await fetch(url, { signal, redirect: 'error' })
    if (!response.ok || !response.body) throw new Error(`${url}: status ${response.status}`)
    // Up to Node 22, a garbage collection while the body arrives makes fetch forget the signal.
    const body = response.body as ReadableStream // the same class, with the types of the DOM
    return JSON.parse(await readText(Readable.fromWeb(body, { signal })))
  }
  const metadata = await read(`${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`)
  if (metadata.issuer !== issuer) throw new Error(`the issuer calls itself ${metadata.issuer}`)
  if (new URL(metadata.jwks_uri).protocol !== new URL(issuer).protocol) throw new Error('jwks_uri has another protocol')
  return createLocalJWKSet(await read(metadata.jwks_uri))
}
