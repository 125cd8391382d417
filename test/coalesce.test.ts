import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createCoalescer } from '../src/lib/coalesce.ts'

/** Reads that the test completes. */
function createStore() {
  const store = {
    reads: [] as { succeed(): void }[],
    read: () =>
      new Promise<number>((resolve) => {
        store.reads.push({ succeed: () => resolve(0) })
      }),
    /** Waits until this number of reads has started. */
    async started(n: number) {
      while (store.reads.length < n) await sleep(1)
    },
  }
  return store
}

describe('reads with the same key', () => {
  test('are one read in the next turn of the event loop if the read before was shared', async () => {
    const [coalesce, store] = [createCoalescer<number>(), createStore()]
    const before = [1, 2, 3].map(() => coalesce('a', store.read))
    store.reads[0]?.succeed()
    await store.started(2)
    store.reads[1]?.succeed()
    await Promise.all(before)
    const all = [1, 2, 3].map(() => coalesce('a', store.read))
    expect(store.reads).toHaveLength(2)
    await nextTurn()
    expect(store.reads).toHaveLength(3)
    store.reads[2]?.succeed()
    expect(await Promise.all(all)).toEqual([0, 0, 0])
    expect(store.reads).toHaveLength(3)
  })

  test('wait for a read in flight for at most MAX_WAIT_MS', async () => {
    const [coalesce, store] = [createCoalescer<number>(), createStore()]
    const hanging = coalesce('a', store.read)
    await store.started(1)
    const next = coalesce('a', store.read)
    await store.started(2)
    store.reads[1]?.succeed()
    expect(await next).toBe(0)
    store.reads[0]?.succeed()
    await hanging
  })
})

test('no result is older than its request, for any interleaving of reads and writes', async () => {
  const step = fc.record({ kind: fc.constantFrom('read', 'write'), key: fc.constantFrom('a', 'b'), pauseMs: fc.nat(3) })
  const durations = fc.array(fc.nat(4), { minLength: 1 })
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), durations, async (steps, durationsMs) => {
      const coalesce = createCoalescer<number>()
      let acknowledged = 0
      let reads = 0
      async function read(): Promise<number> {
        const seen = acknowledged
        await sleep(durationsMs[reads++ % durationsMs.length])
        return seen
      }
      const results: Promise<void>[] = []
      for (const { kind, key, pauseMs } of steps) {
        const acknowledgedBefore = acknowledged
        if (kind === 'write') acknowledged++
        else results.push(coalesce(key, read).then((seen) => expect(seen).toBeGreaterThanOrEqual(acknowledgedBefore)))
        if (pauseMs) await sleep(pauseMs - 1)
      }
      await Promise.all(results)
    }),
    { numRuns: 50 },
  )
})
