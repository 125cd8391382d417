import type { PrismaClient } from '../database/generated/client.ts'

/** How often use is written, in milliseconds: a process that is killed loses at most so much of it. */
export const USAGE_FLUSH_MS = 60_000

interface Use {
  lastUsedAt: Date
  deprecatedCalls: number
  deprecatedLastCallAt: Date | null
}

export type Usage = ReturnType<typeof createUsage>

/**
 * Notes when a key is used, and who still calls the deprecated operation: in memory on the request's way, written in
 * the background, all keys in one statement.
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

  /** Notes that a key was used. */
  function note(keyId: bigint, at: Date): void {
    useOf(keyId, at)
  }

  /** Notes a call of the deprecated operation. */
  function noteDeprecatedCall(keyId: bigint, at: Date): void {
    const use = useOf(keyId, at)
    use.deprecatedCalls++
    use.deprecatedLastCallAt = at
  }

  /** Writes what was noted since the last time. What cannot be written is kept for the next. */
  async function flush(): Promise<void> {
    if (!pending.size) return
    const uses = [...pending]
    pending = new Map()
    try {
      await prisma.$executeRaw`
        UPDATE api_key SET
          last_used_at = greatest(last_used_at, noted.at),
          deprecated_calls = deprecated_calls + noted.calls,
          deprecated_last_call_at = greatest(deprecated_last_call_at, noted.last_call_at)
        FROM unnest(
          ${uses.map(([id]) => id)}::bigint[], ${uses.map(([, use]) => use.lastUsedAt)}::timestamptz[],
          ${uses.map(([, use]) => use.deprecatedCalls)}::int[],
          ${uses.map(([, use]) => use.deprecatedLastCallAt)}::timestamptz[]
        ) AS noted (id, at, calls, last_call_at)
        WHERE api_key.id = noted.id`
    } catch (error) {
      for (const [id, { lastUsedAt, deprecatedCalls, deprecatedLastCallAt }] of uses) {
        const since = pending.get(id) ?? useOf(id, lastUsedAt)
        since.deprecatedCalls += deprecatedCalls
        since.deprecatedLastCallAt ??= deprecatedLastCallAt
      }
      throw error
    }
  }

  return { note, noteDeprecatedCall, flush }
}
