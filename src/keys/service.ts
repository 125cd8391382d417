import { timingSafeEqual } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { PrismaClient } from '../database/generated/client.ts'
import { hashKey, isKey, keyPrefix, mintKey } from './key.ts'

/** Who is calling. */
export interface Caller {
  keyId: bigint
  name: string
  keyPrefix: string
}

/** What may be told of a key. */
export interface KeyInfo {
  name: string
  prefix: string
  createdAt: Date
  revokedAt: Date | null
  /** Calls of the deprecated getPet, and the last of them. */
  deprecatedCalls: bigint
  deprecatedLastCallAt: Date | null
}

/** A revoked key is refused everywhere within this time: what the database said of a key is believed no longer. */
export const KEY_CACHE_MS = 5_000
const KEY_CACHE_SIZE = 10_000

export type Keys = ReturnType<typeof createKeys>

/** Issues, verifies, lists and revokes API keys. */
export function createKeys(prisma: PrismaClient) {
  const known = new LRUCache<string, Promise<Caller | undefined>>({ max: KEY_CACHE_SIZE, ttl: KEY_CACHE_MS })

  /** @returns the new key, which is shown this once and never again */
  async function issue(name: string): Promise<string> {
    const key = mintKey()
    await prisma.apiKey.create({ data: { name, prefix: keyPrefix(key), hash: new Uint8Array(hashKey(key)) } })
    return key
  }

  /**
   * Who the key belongs to, or undefined when it is nobody's or revoked. Asks the database at most once in
   * KEY_CACHE_MS for a key, and never for a text whose checksum is wrong.
   * @throws the database's error when it cannot be asked: that is no verdict on the key
   */
  function verify(key: string): Promise<Caller | undefined> {
    if (!isKey(key)) return Promise.resolve(undefined)
    const hash = hashKey(key)
    const id = hash.toString('base64')
    let caller = known.get(id)
    if (!caller) {
      caller = find(hash)
      known.set(id, caller) // its time runs from the question, not from the answer
      caller.catch(() => known.delete(id))
    }
    return caller
  }

  async function find(hash: Buffer): Promise<Caller | undefined> {
    const [key] = await prisma.apiKey.findMany({ where: { hash: new Uint8Array(hash), revokedAt: null }, take: 1 })
    return key && timingSafeEqual(key.hash, hash) ? { keyId: key.id, name: key.name, keyPrefix: key.prefix } : undefined
  }

  /** Every key, oldest first. */
  async function list(): Promise<KeyInfo[]> {
    return prisma.apiKey.findMany({
      omit: { id: true, hash: true },
      orderBy: { id: 'asc' },
    })
  }

  /**
   * Revokes the key with a prefix. Running instances refuse it within KEY_CACHE_MS.
   * @returns whether there was such a key and it was not revoked before
   */
  async function revoke(prefix: string): Promise<boolean> {
    const { count } = await prisma.apiKey.updateMany({
      where: { prefix, revokedAt: null },
      data: { revokedAt: new Date() },
    })
    return count > 0
  }

  return { issue, verify, list, revoke }
}
