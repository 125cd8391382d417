import type { PrismaClient } from '../database/generated/client.ts'

/** Flush interval in milliseconds: a killed process loses at most this much usage. */
export const USAGE_FLUSH_MS = 60_000

interface Use {
  lastUsedAt: Date
  deprecatedCalls: number
  deprecatedLastCallAt: Date | null
}

export type Usage = ReturnType<typeof createUsage>

/**
 * Records when a key is used, and calls of the deprecated operation: in memory while requests are served, written by a
 * background job, all keys in one statement.
 */
export function createUsage(prisma: PrismaClient) {
  let pending = new Map<bigint, Use>()

  function useOf(keyId: bigint, at: Date): Use {
    const known = pending.get(keyId)
    if (known) {
      known.lastUsedAt = at
      return known
    }
    const use = { lastUsedAt: at, deprecatedCalls: 0, deprecatedLastCallAt: null }
    pending.set(keyId, use)
    return use
  }

  /** Records that a key was used. */
  function recordUse(keyId: bigint, at: Date): void {
    useOf(keyId, at)
  }

  /** Records a call of the deprecated operation. */
  function recordDeprecatedCall(keyId: bigint, at: Date): void {
    const use = useOf(keyId, at)
    use.deprecatedCalls++
    use.deprecatedLastCallAt = at
  }

  /** Writes what was recorded since the last flush. What cannot be written is kept for the next. */
  async function flush(): Promise<void> {
    if (!pending.size) return
    const uses = [...pending]
    pending = new Map()
    try {
      await prisma.$executeRaw`
        UPDATE api_key SET
          last_used_at = greatest(last_used_at, recorded.at),
          deprecated_calls = deprecated_calls + recorded.calls,
          deprecated_last_call_at = greatest(deprecated_last_call_at, recorded.last_call_at)
        FROM unnest(
          ${uses.map(([id]) => id)}::bigint[], ${uses.map(([, use]) => use.lastUsedAt)}::timestamptz[],
          ${uses.map(([, use]) => use.deprecatedCalls)}::int[],
          ${uses.map(([, use]) => use.deprecatedLastCallAt)}::timestamptz[]
        ) AS recorded (id, at, calls, last_call_at)
        WHERE api_key.id = recorded.id`
    } catch (error) {
      for (const [id, { lastUsedAt, deprecatedCalls, deprecatedLastCallAt }] of uses) {
        const since = pending.get(id) ?? useOf(id, lastUsedAt)
        since.deprecatedCalls += deprecatedCalls
        since.deprecatedLastCallAt ??= deprecatedLastCallAt
      }
      throw error
    }
  }

  return { recordUse, recordDeprecatedCall, flush }
}
