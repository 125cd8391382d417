import { LRUCache } from 'lru-cache'
import type { Pool } from 'pg'
import type { ApiKey } from '../database/generated/client.ts'
import { hashKey, isWellFormedKey } from './api-key.ts'
import type { Caller } from './api-keys.ts'

/** Cache TTL in milliseconds: bounds how long a revoked key keeps working. */
export const KEY_CACHE_MS = 5_000
const KEY_CACHE_SIZE = 10_000

/** Prepared, because every guessed key costs one lookup. */
const FIND_KEY = {
  name: 'key',
  text: 'SELECT id, client_id, name, prefix, scopes, expires_at FROM "public"."api_key" WHERE hash = $1 AND revoked_at IS NULL',
}

/** The keys of all open streams in one statement. */
const FIND_KEYS = {
  name: 'keys',
  text: 'SELECT hash, id, client_id, name, prefix, scopes, expires_at FROM "public"."api_key" WHERE hash = ANY($1) AND revoked_at IS NULL',
}

/** As pg returns it: a BIGINT is text. */
interface KeyRow extends Pick<ApiKey, 'name' | 'prefix' | 'scopes'> {
  id: string
  client_id: string | null
  expires_at: Date | null
}

/** What a key is looked up by. */
export interface KeyHash {
  hash: Buffer
  /** The hash as text. */
  id: string
}

/** @returns undefined for a token that is no key: its form or checksum is wrong */
export function toKeyHash(token: string): KeyHash | undefined {
  if (!isWellFormedKey(token)) return undefined
  const hash = hashKey(token)
  return { hash, id: hash.toString('base64') }
}

/** Finds the caller of a key, in a cache or in the database. */
export interface KeyLookup {
  /** The caller of a key that was looked up within KEY_CACHE_MS; undefined when the database must be queried. */
  cached(key: KeyHash): Promise<Caller | undefined> | undefined
  /**
   * Looks a key up in the database. Requests with the same key share the lookup while it is cached.
   * @param run runs the query, for example with a deadline
   * @returns the caller; undefined for a key that is unknown, expired or revoked
   * @throws the database's error, which says nothing about the key
   */
  find(key: KeyHash, run: RunQuery): Promise<Caller | undefined>
  /**
   * Looks up keys in the database, whatever the cache contains.
   * @returns the callers of the valid keys, by `KeyHash.id`
   * @throws the database's error, which says nothing about the keys
   */
  findAll(keys: KeyHash[]): Promise<Map<string, Caller>>
  /** Whether the key was valid at its last lookup, which exempts it from the limit of failed authentications. */
  wasRecentlyValid(key: KeyHash): boolean
  /** Lookups since the start: found in the cache, and queried. */
  readonly counts: Readonly<{ hit: number; miss: number }>
}

type RunQuery = (query: () => Promise<Caller | undefined>) => Promise<Caller | undefined>

/** @param now the clock that decides whether a key has expired */
export function createKeyLookup(pool: Pool, now: () => Date): KeyLookup {
  const callerCache = new LRUCache<string, Promise<Caller | undefined>>({ max: KEY_CACHE_SIZE, ttl: KEY_CACHE_MS })
  const recentlyValidKeys = new LRUCache<string, true>({ max: KEY_CACHE_SIZE })
  const counts = { hit: 0, miss: 0 }

  /** A key may expire while its caller is cached. */
  function unlessExpired(caller: Caller | undefined): Caller | undefined {
    return caller && (!caller.expiresAt || caller.expiresAt > now()) ? caller : undefined
  }

  return {
    cached({ id }) {
      const found = callerCache.get(id)
      if (found) counts.hit++
      return found?.then(unlessExpired)
    },
    find({ id, hash }, run) {
      counts.miss++
      const found = run(() => queryCaller(pool, hash))
      callerCache.set(id, found) // the TTL begins with the query, not with its result
      found.then(
        (caller) => (caller ? recentlyValidKeys.set(id, true) : recentlyValidKeys.delete(id)),
        () => callerCache.delete(id),
      )
      return found.then(unlessExpired)
    },
    async findAll(keys) {
      counts.miss += keys.length
      const values = [keys.map(({ hash }) => hash)]
      const { rows } = await pool.query<KeyRow & { hash: Buffer }>({ ...FIND_KEYS, values })
      const callers = new Map(rows.map((row) => [row.hash.toString('base64'), toCaller(row)]))
      for (const { id } of keys) if (!callers.has(id)) callerCache.delete(id)
      return new Map([...callers].filter(([, caller]) => unlessExpired(caller)))
    },
    wasRecentlyValid: ({ id }) => recentlyValidKeys.has(id),
    counts,
  }
}

async function queryCaller(pool: Pool, hash: Buffer): Promise<Caller | undefined> {
  const { rows } = await pool.query<KeyRow>({ ...FIND_KEY, values: [hash] })
  return rows[0] && toCaller(rows[0])
}

function toCaller(row: KeyRow): Caller {
  const { id, client_id: clientId, name, prefix: keyPrefix, scopes, expires_at: expiresAt } = row
  return { keyId: BigInt(id), clientId: BigInt(clientId ?? id), name, keyPrefix, scopes: new Set(scopes), expiresAt }
}
