import type { PrismaClient } from '../database/generated/client.ts'

/** How often counts are written, in milliseconds: a process that is killed loses at most so much of them. */
export const USAGE_FLUSH_MS = 30_000

export type Usage = ReturnType<typeof createUsage>

/** Counts who still calls the deprecated operation: in memory on the request's way, written in the background. */
export function createUsage(prisma: PrismaClient) {
  const counts = new Map<bigint, { calls: number; last: Date }>()

  /** Notes a call of a key. */
  function note(keyId: bigint, at: Date, calls = 1): void {
    counts.set(keyId, { calls: (counts.get(keyId)?.calls ?? 0) + calls, last: at })
  }

  /** Writes what was noted since the last time. What cannot be written is kept for the next. */
  async function flush(): Promise<void> {
    for (const [id, { calls, last }] of [...counts]) {
      counts.delete(id)
      try {
        const data = { deprecatedCalls: { increment: calls }, deprecatedLastCallAt: last }
        await prisma.apiKey.updateMany({ where: { id }, data })
      } catch (error) {
        note(id, counts.get(id)?.last ?? last, calls)
        throw error
      }
    }
  }

  return { note, flush }
}
