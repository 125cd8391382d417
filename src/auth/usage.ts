import type { PrismaClient } from '../database/generated/client.ts'
import type { Caller } from '../http/request.ts'

/** Flush interval in milliseconds: a killed process loses at most this much usage. */
export const USAGE_FLUSH_MS = 60_000

/** Records the last use of keys in memory; a background job writes it to the database. */
export function createUsage(prisma: PrismaClient, now: () => Date) {
  const pending = new Map<bigint, Date>()
  return {
    recordUse: ({ keyId }: Pick<Caller, 'keyId'>): void => void (keyId && pending.set(keyId, now())),
    /** Writes the uses that were recorded since the last flush. If that fails, the next flush writes them. */
    async flush(): Promise<void> {
      if (!pending.size) return
      const uses = new Map(pending)
      // At most now(): greatest() would keep a time in the future, from an instance whose clock was ahead.
      await prisma.$executeRaw`
        UPDATE "public"."api_key" SET last_used_at = least(greatest(last_used_at, recorded.at), now())
        FROM unnest(${[...uses.keys()]}::bigint[], ${[...uses.values()]}::timestamptz[]) AS recorded (id, at)
        WHERE api_key.id = recorded.id`
      for (const [keyId, at] of uses) if (pending.get(keyId) === at) pending.delete(keyId)
    },
  }
}
