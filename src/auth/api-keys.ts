import { timingSafeEqual } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { Pool } from 'pg'
import { z } from 'zod'
import type { ApiKey, PrismaClient } from '../database/generated/client.ts'
import { OperatorError } from '../operator-error.ts'
import { hashKey, isWellFormedKey, keyPrefix, mintKey } from './api-key.ts'

/** What a key may be allowed to do. */
export const Scope = z.enum(['pets:read', 'pets:write', 'metrics:read'])
export type Scope = z.infer<typeof Scope>

/** For clients of the APIs. Metrics are for operators: they show the key prefixes of all clients. */
export const DEFAULT_SCOPES: Scope[] = ['pets:read', 'pets:write']

/** Who is calling. */
export interface Caller {
  keyId: bigint
  /** The same for all keys that were rotated one into the other. */
  clientId: bigint
  name: string
  keyPrefix: string
  scopes: ReadonlySet<string>
  expiresAt: Date | null
}

/** What may be told of a key. */
export interface KeyInfo {
  name: string
  prefix: string
  scopes: string[]
  createdAt: Date
  expiresAt: Date | null
  revokedAt: Date | null
  lastUsedAt: Date | null
  /** Calls of the deprecated getPet, and the last of them. */
  deprecatedCalls: bigint
  deprecatedLastCallAt: Date | null
}

/** A revoked key is refused everywhere within this time: what the database said of a key is believed no longer. */
export const KEY_CACHE_MS = 5_000
const KEY_CACHE_SIZE = 10_000

/** Prepared, as are the statements of animals: whoever guesses keys has one run for each. */
const FIND_KEY = {
  name: 'key',
  text: 'SELECT id, client_id, name, prefix, scopes, expires_at, hash FROM "public"."api_key" WHERE hash = $1 AND revoked_at IS NULL',
}

/** As pg gives it: an int8 as text. */
interface KeyRow extends Pick<ApiKey, 'name' | 'prefix' | 'scopes' | 'hash'> {
  id: string
  client_id: string | null
  expires_at: Date | null
}

/** A key has its successor already. The message is one line, and names both by their prefixes. */
export class KeyAlreadyRotatedError extends OperatorError {}

export type ApiKeys = ReturnType<typeof createApiKeys>

/** What a key is looked up by. */
export interface KeyHash {
  hash: Buffer
  /** The hash as text. */
  id: string
}

type RunQuery = (query: () => Promise<Caller | undefined>) => Promise<Caller | undefined>

/** @returns undefined for a token that is no key: its shape or checksum is wrong */
export function toKeyHash(token: string): KeyHash | undefined {
  if (!isWellFormedKey(token)) return undefined
  const hash = hashKey(token)
  return { hash, id: hash.toString('base64') }
}

/** Issues, verifies, rotates, lists and revokes API keys. */
export function createApiKeys(
  { prisma, pool }: { prisma: PrismaClient; pool: Pool },
  now: () => Date = () => new Date(),
) {
  const callerCache = new LRUCache<string, Promise<Caller | undefined>>({ max: KEY_CACHE_SIZE, ttl: KEY_CACHE_MS })
  /** Keys valid at their last lookup are exempt from the limit of failed authentications. */
  const recentlyValidKeys = new LRUCache<string, true>({ max: KEY_CACHE_SIZE })
  /** Lookups of keys: answered by the cache, and by the database. */
  const lookups = { hit: 0, miss: 0 }

  /** @returns the new key, which is shown this once and never again */
  async function issue(
    name: string,
    { scopes = DEFAULT_SCOPES, expiresAt }: { scopes?: Scope[]; expiresAt?: Date | undefined } = {},
  ): Promise<string> {
    const key = mintKey()
    await prisma.apiKey.create({ data: { ...toKeyRow(key), name, scopes, expiresAt: expiresAt ?? null } })
    return key
  }

  /** Undefined for a key that has expired since its lookup. */
  function ifCurrent(caller: Caller | undefined): Caller | undefined {
    return caller && (!caller.expiresAt || caller.expiresAt > now()) ? caller : undefined
  }

  /** The caller of a key that was looked up within KEY_CACHE_MS; undefined when the database has to be queried. */
  function cached({ id }: KeyHash): Promise<Caller | undefined> | undefined {
    const found = callerCache.get(id)
    if (found) lookups.hit++
    return found?.then(ifCurrent)
  }

  /** Whether the key was valid at its last lookup. */
  function wasRecentlyValid({ id }: KeyHash): boolean {
    return recentlyValidKeys.has(id)
  }

  /**
   * Looks a key up in the database; requests with the same key share the lookup while it is cached.
   * @param run how the query is run, with a deadline say
   * @returns the caller; undefined for a key that is unknown, expired or revoked
   * @throws the database's error: that is no verdict on the key
   */
  function lookup({ id, hash }: KeyHash, run: RunQuery = (query) => query()): Promise<Caller | undefined> {
    lookups.miss++
    const found = run(() => find(hash))
    callerCache.set(id, found) // the TTL begins with the query, not with its result
    found.then(
      (caller) => (caller ? recentlyValidKeys.set(id, true) : recentlyValidKeys.delete(id)),
      () => callerCache.delete(id),
    )
    return found.then(ifCurrent)
  }

  /** The caller of a key; undefined for a key that is malformed, unknown, expired or revoked. */
  async function verify(token: string): Promise<Caller | undefined> {
    const key = toKeyHash(token)
    return key && (cached(key) ?? lookup(key))
  }

  async function find(hash: Buffer): Promise<Caller | undefined> {
    const { rows } = await pool.query<KeyRow>({ ...FIND_KEY, values: [hash] })
    const [key] = rows
    if (!key || !timingSafeEqual(key.hash, hash)) return undefined
    const { id, client_id: clientId, name, prefix: keyPrefix, scopes, expires_at: expiresAt } = key
    return { keyId: BigInt(id), clientId: BigInt(clientId ?? id), name, keyPrefix, scopes: new Set(scopes), expiresAt }
  }

  /** Every key, oldest first. */
  async function list(): Promise<KeyInfo[]> {
    return prisma.apiKey.findMany({
      omit: { id: true, hash: true, clientId: true },
      orderBy: { id: 'asc' },
    })
  }

  /**
   * Makes a key that takes the place of the one with a prefix: same name, scopes and client, and as long a life. The
   * old one goes on for a while, so that a client can change over without a gap.
   * @param overlapMs how long, in milliseconds; an earlier expiry of its own stays
   * @returns the new key, shown this once; undefined when no key in use has the prefix
   * @throws RotatedAlready for a key that has been rotated: its end is that of an overlap, and tells nothing of its life
   */
  async function rotate(prefix: string, overlapMs: number): Promise<string | undefined> {
    const at = now()
    const inUse = { prefix, revokedAt: null, OR: [{ expiresAt: null }, { expiresAt: { gt: at } }] }
    return prisma.$transaction(async (tx) => {
      await tx.$queryRaw`SELECT id FROM api_key WHERE prefix = ${prefix} FOR UPDATE` // of two at once, one goes first
      const [old] = await tx.apiKey.findMany({ where: inUse, take: 1 })
      if (!old) return undefined
      const { id, name, scopes, expiresAt, createdAt } = old
      const clientId = old.clientId ?? id
      const [newer] = await tx.apiKey.findMany({ where: { clientId, id: { gt: id } }, orderBy: { id: 'asc' }, take: 1 })
      if (newer) throw new KeyAlreadyRotatedError(`${prefix} was rotated already: ${newer.prefix} takes its place.`)
      const key = mintKey()
      const end = new Date(at.getTime() + overlapMs)
      const newEnd = expiresAt && new Date(at.getTime() + expiresAt.getTime() - createdAt.getTime())
      await tx.apiKey.update({ where: { id }, data: { expiresAt: expiresAt && expiresAt < end ? expiresAt : end } })
      await tx.apiKey.create({ data: { ...toKeyRow(key), name, scopes, clientId, expiresAt: newEnd } })
      return key
    })
  }

  /**
   * Revokes the key with a prefix. Running instances refuse it within KEY_CACHE_MS.
   * @returns whether there was such a key and it was not revoked before
   */
  async function revoke(prefix: string): Promise<boolean> {
    const { count } = await prisma.apiKey.updateMany({
      where: { prefix, revokedAt: null },
      data: { revokedAt: now() },
    })
    return count > 0
  }

  return { issue, cached, wasRecentlyValid, lookup, verify, list, rotate, revoke, lookups }
}

/** What is stored of a key itself. */
function toKeyRow(key: string) {
  return { prefix: keyPrefix(key), hash: new Uint8Array(hashKey(key)) }
}
