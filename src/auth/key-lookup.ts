import { setTimeout as sleep } from 'node:timers/promises'
import { LRUCache } from 'lru-cache'
import type { Statements } from '../database/statements.ts'
import type { Caller } from '../http/request.ts'
import { hashKey } from './api-keys.ts'

/** Cache TTL in milliseconds. A stream that begins with a cached key is verified VERIFY_MS later: both are < 5 s together. */
export const KEY_CACHE_MS = 2_000
const KEY_CACHE_SIZE = 10_000

/** Finds all keys that wait with one statement: thousands of streams and clients begin when an instance starts. */
const FIND_KEYS = `
  SELECT hash, id AS "keyId", coalesce(client_id, id) AS "clientId", prefix AS "keyPrefix", scopes,
    expires_at AS "expiresAt"
  FROM "public"."api_key" WHERE hash = ANY($1) AND revoked_at IS NULL`

type KeyRow = Omit<Caller, 'scopes'> & { hash: Buffer; scopes: string[] }

/** What a key is looked up by: its hash in base64. */
export type KeyHash = string

export function toKeyHash(key: string): KeyHash {
  return hashKey(key).toString('base64')
}

export type KeyLookup = ReturnType<typeof createKeyLookup>

/** @returns reads the caller of a key from the database; undefined for a key that is unknown or revoked */
function createKeyQuery({ batch }: Statements, options?: { maxSize: number; begin: string }) {
  return batch({
    ...options,
    text: FIND_KEYS,
    toValues: (keyHashes: KeyHash[]) => [keyHashes.map((keyHash) => Buffer.from(keyHash, 'base64'))],
    toOutputs(rows: KeyRow[], keyHashes) {
      const found = new Map(
        rows.map(({ hash, scopes, ...row }) => [hash.toString('base64'), { ...row, scopes: new Set(scopes) }]),
      )
      return keyHashes.map((keyHash) => found.get(keyHash))
    },
  })
}

/** Finds the caller of a key, in a cache or in the database, and that of an access token, in the cache or by its signature. */
export function createKeyLookup(
  statements: Statements,
  now: () => Date,
  verifyToken?: (token: string) => Promise<Caller | undefined>,
) {
  const query = createKeyQuery(statements)
  const callerCache = new LRUCache<string, Promise<Caller | undefined>>({
    max: KEY_CACHE_SIZE,
    ttl: KEY_CACHE_MS,
    ttlResolution: 0, // not for the rest of a long turn of the event loop besides
  })
  const recentlyValidKeys = new LRUCache<string, true>({ max: KEY_CACHE_SIZE })
  const counts = { hit: 0, miss: 0 }

  /** A key may expire while its caller is cached. */
  const unlessExpired = (caller: Caller | undefined) => (caller && !hasExpired(caller, now()) ? caller : undefined)

  /** Requests with the same key share the lookup while it is cached. */
  function remember(keyHash: KeyHash, found: Promise<Caller | undefined>): Promise<Caller | undefined> {
    counts.miss++
    callerCache.set(keyHash, found) // the TTL begins with the query, not with its result
    const valid = found.then(unlessExpired)
    valid.then(
      (caller) => {
        if (!caller) return recentlyValidKeys.delete(keyHash)
        // Nothing revokes a token before it expires.
        const { keyId, expiresAt } = caller
        if (!keyId && expiresAt) callerCache.set(keyHash, found, { ttl: expiresAt.getTime() - now().getTime() })
        return recentlyValidKeys.set(keyHash, true)
      },
      () => callerCache.peek(keyHash) === found && callerCache.delete(keyHash), // another lookup may have begun
    )
    return valid
  }

  return {
    /** The caller of a key that was looked up within KEY_CACHE_MS, or of a token; undefined when it must be looked up. */
    cached(keyHash: KeyHash) {
      const found = callerCache.get(keyHash)
      if (found) counts.hit++
      return found?.then(unlessExpired)
    },
    /** Looks a key up in the database. @returns the caller; undefined for a key that is unknown, expired or revoked */
    find: (keyHash: KeyHash) => remember(keyHash, query(keyHash)),
    /** Finds the caller of an access token by its signature. It is undefined if no access tokens are accepted. */
    findByToken: verifyToken && ((keyHash: KeyHash, token: string) => remember(keyHash, verifyToken(token))),
    /** Whether the key was valid at its last lookup, which exempts it from the limit of failed authentications. */
    wasRecentlyValid: (keyHash: KeyHash) => recentlyValidKeys.has(keyHash),
    counts,
  }
}

/**
 * @param statements of connections that requests do not use: they verify while those are busy
 * @param isDatabaseAway whether `/readyz` says so: then a key is valid until it expires
 * @returns verifies the key or token of a stream; rejects when that cannot be found out
 */
export function createVerifyKey(
  statements: Statements,
  timeoutMs: number,
  now: () => Date,
  isDatabaseAway: () => Promise<boolean>,
) {
  const begin = `BEGIN; SET LOCAL statement_timeout = ${timeoutMs}`
  const query = createKeyQuery(statements, { maxSize: KEY_CACHE_SIZE, begin })

  return async (keyHash: KeyHash, caller: Caller): Promise<boolean> => {
    if (!caller.keyId) return !hasExpired(caller, now()) // nothing revokes a token before it expires
    try {
      const found = await Promise.race([query(keyHash), failAfter(timeoutMs)])
      return found !== undefined && !hasExpired(found, now())
    } catch (error) {
      if (await isDatabaseAway()) return !hasExpired(caller, now())
      throw error
    }
  }
}

async function failAfter(timeoutMs: number): Promise<never> {
  await sleep(timeoutMs, undefined, { ref: false })
  throw new Error('The key was not verified in time')
}

/** A token may expire at a time that is no valid date. No comparison with it is true, so it counts as expired. */
function hasExpired({ expiresAt }: Caller, now: Date): boolean {
  return expiresAt !== null && !(expiresAt > now)
}
