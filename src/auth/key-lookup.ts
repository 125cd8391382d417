import { setTimeout as sleep } from 'node:timers/promises'
import { LRUCache } from 'lru-cache'
import type { Statements } from '../database/statements.ts'
import type { Caller } from '../http/request.ts'
import type { KeyHash } from './api-keys.ts'

/** Cache TTL in milliseconds. A stream may begin with a cached key, so KEY_CACHE_MS + VERIFY_MS must be less than 5 s. */
export const KEY_CACHE_MS = 2_000
const KEY_CACHE_SIZE = 10_000

/** One statement finds all keys whose lookups wait: thousands of streams and clients begin when an instance starts. */
const FIND_KEYS = `
  SELECT hash, id AS "keyId", coalesce(client_id, id) AS "clientId", prefix AS "keyPrefix", scopes,
    expires_at AS "expiresAt"
  FROM "public"."api_key" WHERE hash = ANY($1) AND revoked_at IS NULL`

type KeyRow = Omit<Caller, 'scopes'> & { hash: Buffer; scopes: string[] }

interface Lookup {
  found: Promise<Caller | undefined>
  /** Undefined until the caller was found. */
  caller?: Caller
}

export type KeyLookup = ReturnType<typeof createKeyLookup>

/** @returns a function that reads the caller of a key from the database: undefined if the key is unknown or revoked */
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

/** Finds the caller of a key in a cache or the database, and of an access token in the same cache or by its signature. */
export function createKeyLookup(
  statements: Statements,
  now: () => Date,
  verifyToken?: (token: string) => Promise<Caller | undefined>,
) {
  const query = createKeyQuery(statements)
  const lookups = new LRUCache<KeyHash, Lookup>({
    max: KEY_CACHE_SIZE,
    ttl: KEY_CACHE_MS,
    ttlResolution: 0, // by default lru-cache caches the time, so an entry would live on in a long turn of the event loop
  })
  const recentlyValid = new LRUCache<KeyHash, true>({ max: KEY_CACHE_SIZE })
  const counts = { hit: 0, miss: 0 }

  /** A key may expire while its caller is cached. */
  const unlessExpired = (caller: Caller | undefined) => (caller && !hasExpired(caller, now) ? caller : undefined)

  /** Shares the lookup of this key that is in flight, or begins one. */
  function lookUp(keyHash: KeyHash, find: () => Promise<Caller | undefined>): Promise<Caller | undefined> {
    const inFlight = lookups.get(keyHash)
    if (inFlight) {
      counts.hit++
      return inFlight.found.then(unlessExpired)
    }
    counts.miss++
    const lookup: Lookup = { found: find() }
    lookups.set(keyHash, lookup) // the TTL begins with the query, not with its result
    const valid = lookup.found.then(unlessExpired)
    valid.then(
      (caller) => {
        if (!caller) return recentlyValid.delete(keyHash)
        lookup.caller = caller
        // A token is cached until it expires, because nothing revokes it before.
        const { keyId, expiresAt } = caller
        if (!keyId && expiresAt) lookups.set(keyHash, lookup, { ttl: expiresAt.getTime() - now().getTime() })
        return recentlyValid.set(keyHash, true)
      },
      () => lookups.peek(keyHash) === lookup && lookups.delete(keyHash), // another lookup may have begun
    )
    return valid
  }

  return {
    /** The caller of a valid key whose lookup has ended, and began within KEY_CACHE_MS, or of a known token; else undefined. */
    cached(keyHash: KeyHash): Caller | undefined {
      const caller = unlessExpired(lookups.get(keyHash)?.caller)
      if (caller) counts.hit++
      return caller
    },
    /** Looks a key up in the database. @returns the caller; undefined for a key that is unknown, expired or revoked */
    find: (keyHash: KeyHash) => lookUp(keyHash, () => query(keyHash)),
    /** Finds the caller of an access token by its signature. The function is undefined if no access tokens are accepted. */
    findByToken: verifyToken && ((keyHash: KeyHash, token: string) => lookUp(keyHash, () => verifyToken(token))),
    /** Whether the key was valid at its last lookup, which exempts it from the limit of failed authentications. */
    wasRecentlyValid: (keyHash: KeyHash) => recentlyValid.has(keyHash),
    counts,
  }
}

/**
 * @param statements use connections of their own, so that keys are verified while the connections of requests are busy
 * @param hasDatabaseProblem whether `/readyz` reports a problem of the database: a key then counts as valid until it expires
 * @returns a function that verifies the key or token of a stream. It rejects if it cannot find out whether a key is valid
 */
export function createVerifyKey(
  statements: Statements,
  timeoutMs: number,
  now: () => Date,
  hasDatabaseProblem: () => Promise<boolean>,
) {
  const begin = `BEGIN; SET LOCAL statement_timeout = ${timeoutMs}`
  const query = createKeyQuery(statements, { maxSize: KEY_CACHE_SIZE, begin })

  return async (keyHash: KeyHash, caller: Caller): Promise<boolean> => {
    if (!caller.keyId) return !hasExpired(caller, now) // nothing revokes a token before it expires
    try {
      const found = await Promise.race([query(keyHash), sleep(timeoutMs, 'late' as const, { ref: false })])
      if (found === 'late') throw new Error('The key was not verified in time')
      return found !== undefined && !hasExpired(found, now)
    } catch (error) {
      if (await hasDatabaseProblem()) return !hasExpired(caller, now)
      throw error
    }
  }
}

/** The expiry of a token may be an invalid date. No comparison with such a date is true, so the token counts as expired. */
function hasExpired({ expiresAt }: Caller, now: () => Date): boolean {
  return expiresAt !== null && !(expiresAt > now())
}
