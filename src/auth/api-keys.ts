import { hash, randomBytes } from 'node:crypto'
import { crc32 } from 'node:zlib'
import type { PrismaClient } from '../database/generated/client.ts'
import { OperatorError } from '../lib/operator-error.ts'
import { KEY_PREFIX } from '../project.ts'

/**
 * A key is KEY_PREFIX, 256 random bits in base 36, and a checksum that detects mistyped keys without a query. It has only
 * letters, digits and the underscore, so that a double click selects the whole key.
 */
const KEY_PATTERN = new RegExp(`^${KEY_PREFIX}[0-9a-z]{57}$`)
const CHECKSUM_LENGTH = 7

/** Only operators get this scope, since metrics show the key prefixes of all clients. No access token has it. */
export const METRICS_SCOPE = 'metrics:read'

/** The scopes of a client of the APIs, which a new key gets by default. */
export function clientScopes(resources: { scopes: { read: string; write: string } }[]): string[] {
  return resources.flatMap(({ scopes }) => [scopes.read, scopes.write])
}

export type ApiKeys = ReturnType<typeof createApiKeys>

/** @param defaultScopes the scopes of a key that is issued without `scopes` @param now decides which keys have expired */
export function createApiKeys({ prisma }: { prisma: PrismaClient }, defaultScopes: string[], now = () => new Date()) {
  return {
    scopes: [...defaultScopes, METRICS_SCOPE],
    /** @returns the new key. Only its hash is stored, so it cannot be shown again */
    async issue(name: string, options: { scopes?: string[]; expiresAt?: Date | null } = {}): Promise<string> {
      const key = mintKey()
      await prisma.apiKey.create({ data: { scopes: defaultScopes, ...options, ...toKeyRow(key), name } })
      return key
    },
    async isValid(key: string): Promise<boolean> {
      return (await prisma.apiKey.count({ where: { hash: toKeyRow(key).hash, ...validAt(now()) } })) > 0
    },
    list: () =>
      prisma.apiKey.findMany({
        where: { id: { gt: 0 } },
        omit: { id: true, hash: true, clientId: true, deprecatedCalls: true, deprecatedLastCallAt: true },
        orderBy: { id: 'asc' },
      }),
    rotate: (prefix: string, overlapMs: number) => rotate(prisma, now(), prefix, overlapMs),
    /** @returns whether there is a key with this prefix that was not revoked before */
    async revoke(prefix: string): Promise<boolean> {
      const revoked = await prisma.apiKey.updateMany({ where: { prefix, revokedAt: null }, data: { revokedAt: now() } })
      return revoked.count > 0
    },
  }
}

/**
 * Issues the successor of the valid key with a prefix: same name, scopes, client and lifetime. The old key remains valid
 * during the overlap, or until its own earlier expiry.
 * @returns the new key; undefined when no valid key has the prefix
 * @throws OperatorError if the key already has a successor: it expires at the end of the overlap, which hides its lifetime
 */
function rotate(prisma: PrismaClient, at: Date, prefix: string, overlapMs: number): Promise<string | undefined> {
  return prisma.$transaction(async (tx) => {
    await tx.$queryRaw`SELECT id FROM "public"."api_key" WHERE prefix = ${prefix} FOR NO KEY UPDATE` // serialises rotations
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

function validAt(at: Date) {
  return { revokedAt: null, OR: [{ expiresAt: null }, { expiresAt: { gt: at } }] }
}

function toKeyRow(key: string) {
  return { prefix: keyPrefix(key), hash: Uint8Array.from(Buffer.from(hashKey(key), 'base64')) }
}

export function mintKey(): string {
  const secret = BigInt(`0x${randomBytes(32).toString('hex')}`)
  const body = `${KEY_PREFIX}${secret.toString(36).padStart(50, '0')}`
  return body + checksum(body)
}

/** Whether the text has the form and the checksum of a key; it may still be unknown, expired or revoked. */
export function isWellFormedKey(text: string): boolean {
  return KEY_PATTERN.test(text) && checksum(text.slice(0, -CHECKSUM_LENGTH)) === text.slice(-CHECKSUM_LENGTH)
}

/** A SHA-256 in base64. */
export type KeyHash = string

/**
 * The hash of a key, which is stored instead of the key, or of an access token. 256 random bits need neither salt nor a
 * slow hash.
 */
export function hashKey(key: string): KeyHash {
  return hash('sha256', key, 'base64')
}

/** What may be shown of a key: enough to tell keys apart, far too little to guess the rest. */
export function keyPrefix(key: string): string {
  return key.slice(0, KEY_PREFIX.length + 8)
}

function checksum(body: string): string {
  return crc32(body).toString(36).padStart(CHECKSUM_LENGTH, '0')
}
