import type { PrismaClient } from '../database/generated/client.ts'

/** Flush interval in milliseconds: a killed process loses at most this much usage. */
export const USAGE_FLUSH_MS = 60_000

interface Use {
  lastUsedAt: Date
  deprecatedCalls: number
  deprecatedLastCallAt: Date | null
}

/** Records the use of keys in memory; a background job writes it to the database. */
export function createUsage(prisma: PrismaClient) {
  let pending = new Map<bigint, Use>()

  function recordUse(keyId: bigint, at: Date): Use {
    const use = pending.get(keyId) ?? { lastUsedAt: at, deprecatedCalls: 0, deprecatedLastCallAt: null }
    use.lastUsedAt = at
    pending.set(keyId, use)
    return use
  }

  function recordDeprecatedCall(keyId: bigint, at: Date): void {
    const use = recordUse(keyId, at)
    use.deprecatedCalls++
    use.deprecatedLastCallAt = at
  }

  /** Writes what was recorded since the last flush. What cannot be written is kept for the next one. */
  async function flush(): Promise<void> {
    if (!pending.size) return
    const uses = pending
    pending = new Map()
    try {
      await writeUses(prisma, [...uses])
    } catch (error) {
      for (const [keyId, { lastUsedAt, deprecatedCalls, deprecatedLastCallAt }] of uses) {
        const newer = pending.get(keyId) ?? recordUse(keyId, lastUsedAt)
        newer.deprecatedCalls += deprecatedCalls
        newer.deprecatedLastCallAt ??= deprecatedLastCallAt
      }
      throw error
    }
  }

  return { recordUse, recordDeprecatedCall, flush }
}

async function writeUses(prisma: PrismaClient, uses: [keyId: bigint, Use][]): Promise<void> {
  await prisma.$executeRaw`
    UPDATE api_key SET
      last_used_at = greatest(last_used_at, recorded.at),
      deprecated_calls = deprecated_calls + recorded.calls,
      deprecated_last_call_at = greatest(deprecated_last_call_at, recorded.last_call_at)
    FROM unnest(
      ${uses.map(([keyId]) => keyId)}::bigint[], ${uses.map(([, use]) => use.lastUsedAt)}::timestamptz[],
      ${uses.map(([, use]) => use.deprecatedCalls)}::int[],
      ${uses.map(([, use]) => use.deprecatedLastCallAt)}::timestamptz[]
    ) AS recorded (id, at, calls, last_call_at)
    WHERE api_key.id = recorded.id`
}
