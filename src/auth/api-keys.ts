import { z } from 'zod'
import type { ApiKey, PrismaClient } from '../database/generated/client.ts'
import { OperatorError } from '../operator-error.ts'
import { hashKey, keyPrefix, mintKey } from './api-key.ts'

/** What a key may be allowed to do. */
export const Scope = z.enum(['pets:read', 'pets:write', 'metrics:read'])
export type Scope = z.infer<typeof Scope>

/** For clients of the APIs. Metrics are for operators: they show the key prefixes of all clients. */
export const DEFAULT_SCOPES: Scope[] = ['pets:read', 'pets:write']

/** An authenticated client. */
export interface Caller {
  keyId: bigint
  /** Shared by all keys of a rotation chain. */
  clientId: bigint
  name: string
  keyPrefix: string
  scopes: ReadonlySet<string>
  expiresAt: Date | null
}

/** What operators may see of a key. */
export type KeyInfo = Omit<ApiKey, 'id' | 'hash' | 'clientId'>

/** Issues, lists, rotates and revokes API keys. */
export interface ApiKeys {
  /** @returns the new key, which is stored nowhere and cannot be shown again */
  issue(name: string, options?: { scopes?: Scope[]; expiresAt?: Date | undefined }): Promise<string>
  /** Whether a key is known, not expired and not revoked. */
  isValid(key: string): Promise<boolean>
  /** Every key, oldest first. */
  list(): Promise<KeyInfo[]>
  /**
   * Issues the successor of the valid key with a prefix: same name, scopes and client, and the same lifetime. The old
   * key remains valid during the overlap, so that a client can switch without interruption.
   * @param overlapMs in milliseconds; the old key's own expiry stays when it is earlier
   * @returns the new key, which cannot be shown again; undefined when no valid key has the prefix
   * @throws OperatorError for a key with a successor: its expiry is the end of the overlap and no longer its lifetime
   */
  rotate(prefix: string, overlapMs: number): Promise<string | undefined>
  /**
   * Revokes the key with a prefix. Running instances reject it within 5 seconds.
   * @returns whether there was such a key and it was not revoked before
   */
  revoke(prefix: string): Promise<boolean>
}

/** @param now the clock that decides which keys have expired */
export function createApiKeys({ prisma }: { prisma: PrismaClient }, now = () => new Date()): ApiKeys {
  return {
    async issue(name, { scopes = DEFAULT_SCOPES, expiresAt } = {}) {
      const key = mintKey()
      await prisma.apiKey.create({ data: { ...toKeyRow(key), name, scopes, expiresAt: expiresAt ?? null } })
      return key
    },
    async isValid(key) {
      const { hash } = toKeyRow(key)
      return (await prisma.apiKey.count({ where: { hash, ...validAt(now()) } })) > 0
    },
    list: () => prisma.apiKey.findMany({ omit: { id: true, hash: true, clientId: true }, orderBy: { id: 'asc' } }),
    rotate: (prefix, overlapMs) => rotate(prisma, now(), prefix, overlapMs),
    async revoke(prefix) {
      const revoked = await prisma.apiKey.updateMany({ where: { prefix, revokedAt: null }, data: { revokedAt: now() } })
      return revoked.count > 0
    },
  }
}

function rotate(prisma: PrismaClient, at: Date, prefix: string, overlapMs: number): Promise<string | undefined> {
  return prisma.$transaction(async (tx) => {
    await tx.$queryRaw`SELECT id FROM api_key WHERE prefix = ${prefix} FOR UPDATE` // serialises concurrent rotations
    const old = await tx.apiKey.findFirst({ where: { prefix, ...validAt(at) } })
    if (!old) return undefined
    const { id, name, scopes, expiresAt, createdAt } = old
    const clientId = old.clientId ?? id
    const successor = await tx.apiKey.findFirst({ where: { clientId, id: { gt: id } }, orderBy: { id: 'asc' } })
    if (successor) throw new OperatorError(`${prefix} was rotated already: its successor is ${successor.prefix}.`)
    const key = mintKey()
    const overlapEnd = new Date(at.getTime() + overlapMs)
    const newExpiry = expiresAt && new Date(at.getTime() + expiresAt.getTime() - createdAt.getTime())
    const oldExpiry = expiresAt && expiresAt < overlapEnd ? expiresAt : overlapEnd
    await tx.apiKey.update({ where: { id }, data: { expiresAt: oldExpiry } })
    await tx.apiKey.create({ data: { ...toKeyRow(key), name, scopes, clientId, expiresAt: newExpiry } })
    return key
  })
}

/** Selects keys that are neither expired nor revoked. */
function validAt(at: Date) {
  return { revokedAt: null, OR: [{ expiresAt: null }, { expiresAt: { gt: at } }] }
}

/** What is stored of a key itself. */
function toKeyRow(key: string) {
  return { prefix: keyPrefix(key), hash: new Uint8Array(hashKey(key)) }
}
