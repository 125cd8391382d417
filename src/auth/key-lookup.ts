import { LRUCache } from 'lru-cache'
import type { Statements } from '../database/statements.ts'
import { type Caller, hashKey } from './api-keys.ts'

/** Cache TTL in milliseconds: with VERIFY_MS of streams it bounds how long a revoked key keeps working. */
export const KEY_CACHE_MS = 2_500
const KEY_CACHE_SIZE = 10_000

/** One statement for all lookups that wait: thousands of streams and clients begin when an instance starts. */
const FIND_KEYS = `
  SELECT hash, id AS "keyId", coalesce(client_id, id) AS "clientId", name, prefix AS "keyPrefix", scopes,
    expires_at AS "expiresAt"
  FROM "public"."api_key" WHERE hash = ANY($1) AND revoked_at IS NULL`

type KeyRow = Omit<Caller, 'scopes'> & { hash: Buffer; scopes: string[] }

/** What a key is looked up by: its hash in base64. */
export type KeyHash = string

export function toKeyHash(key: string): KeyHash {
  return hashKey(key).toString('base64')
}

export type KeyLookup = ReturnType<typeof createKeyLookup>

/** Finds the caller of a key, in a cache or in the database. @param now decides whether a key has expired */
export function createKeyLookup({ batch }: Statements, now: () => Date) {
  const query = batch({
    text: FIND_KEYS,
    toValues: (keys: KeyHash[]) => [keys.map((key) => Buffer.from(key, 'base64'))],
    toOutputs(rows: KeyRow[], keys) {
      const found = new Map(
        rows.map(({ hash, scopes, ...row }) => [hash.toString('base64'), { ...row, scopes: new Set(scopes) }]),
      )
      return keys.map((key) => found.get(key))
    },
  })
  const callerCache = new LRUCache<string, Promise<Caller | undefined>>({ max: KEY_CACHE_SIZE, ttl: KEY_CACHE_MS })
  const recentlyValidKeys = new LRUCache<string, true>({ max: KEY_CACHE_SIZE })
  const counts = { hit: 0, miss: 0 }

  /** A key may expire while its caller is cached. */
  function unlessExpired(caller: Caller | undefined): Caller | undefined {
    return caller && (!caller.expiresAt || caller.expiresAt > now()) ? caller : undefined
  }

  /**
   * Looks a key up in the database. Requests with the same key share the lookup while it is cached.
   * @returns the caller; undefined for a key that is unknown, expired or revoked
   */
  function find(key: KeyHash): Promise<Caller | undefined> {
    counts.miss++
    const found = query(key)
    callerCache.set(key, found) // the TTL begins with the query, not with its result
    found.then(
      (caller) => (caller ? recentlyValidKeys.set(key, true) : recentlyValidKeys.delete(key)),
      () => callerCache.delete(key),
    )
    return found.then(unlessExpired)
  }

  return {
    /** The caller of a key that was looked up within KEY_CACHE_MS; undefined when the database must be queried. */
    cached(key: KeyHash) {
      const found = callerCache.get(key)
      if (found) counts.hit++
      return found?.then(unlessExpired)
    },
    find,
    /** Whether a key is still valid in the database; while that is not available, whether it has not expired. */
    async verify(key: KeyHash, caller: Caller): Promise<boolean> {
      const found = await find(key).catch(() => unlessExpired(caller))
      return found !== undefined
    },
    /** Whether the key was valid at its last lookup, which exempts it from the limit of failed authentications. */
    wasRecentlyValid: (key: KeyHash) => recentlyValidKeys.has(key),
    counts,
  }
}
