import { setTimeout as sleep } from 'node:timers/promises'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createBatcher, createCoalescer } from '../src/coalesce.ts'

/** A read that the test ends; it returns the value at its start. */
function createStore() {
  const store = {
    value: 0,
    reads: [] as { end(): void; fail(): void }[],
    read: () =>
      new Promise<number>((resolve, reject) => {
        const { value } = store
        store.reads.push({ end: () => resolve(value), fail: () => reject(new Error(`read ${store.reads.length}`)) })
      }),
    /** Waits until a read has begun. */
    async begun(n: number) {
      while (store.reads.length < n) await sleep(1)
    },
  }
  return store
}

describe('reads with the same key', () => {
  test('requested in one tick of the event loop are one', async () => {
    const [coalesce, store] = [createCoalescer<number>(), createStore()]
    const all = [1, 2, 3].map(() => coalesce('a', store.read))
    const other = coalesce('b', store.read)
    await store.begun(2)
    store.reads.forEach((read) => read.end())
    expect(await Promise.all([...all, other])).toEqual([0, 0, 0, 0])
    expect(store.reads).toHaveLength(2)
  })

  test('requested while one is in flight share the next, which sees what was written meanwhile', async () => {
    const [coalesce, store] = [createCoalescer<number>(), createStore()]
    const first = coalesce('a', store.read)
    await store.begun(1)
    store.value = 1 // and acknowledged
    const later = [coalesce('a', store.read), coalesce('a', store.read)]
    store.reads[0]?.end()
    await store.begun(2)
    store.reads[1]?.end()
    expect(await Promise.all([first, ...later])).toEqual([0, 1, 1])
    expect(store.reads).toHaveLength(2)
  })

  test('wait for one that hangs no longer than COALESCE_MAX_WAIT_MS', async () => {
    const [coalesce, store] = [createCoalescer<number>(), createStore()]
    const hangs = coalesce('a', store.read)
    await store.begun(1)
    const next = coalesce('a', store.read)
    await store.begun(2)
    store.reads[1]?.end()
    expect(await next).toBe(0)
    store.reads[0]?.end()
    await hangs
  })

  test('fail together, and the next is read again', async () => {
    const [coalesce, store] = [createCoalescer<number>(), createStore()]
    const both = [coalesce('a', store.read), coalesce('a', store.read)]
    await store.begun(1)
    const next = coalesce('a', store.read)
    store.reads[0]?.fail()
    expect((await Promise.allSettled(both)).map(({ status }) => status)).toEqual(['rejected', 'rejected'])
    await store.begun(2)
    store.reads[1]?.end()
    expect(await next).toBe(0)
  })

  test('a read that throws synchronously fails', async () => {
    const coalesce = createCoalescer<number>()
    const broken = () => {
      throw new Error('broken')
    }
    await expect(coalesce('a', broken)).rejects.toThrow('broken')
    expect(await coalesce('a', async () => 1)).toBe(1)
  })
})

test('no result is older than its request, for any interleaving of reads and writes', async () => {
  const step = fc.record({ kind: fc.constantFrom('read', 'write'), key: fc.constantFrom('a', 'b'), pauseMs: fc.nat(3) })
  const took = fc.array(fc.nat(4), { minLength: 1 })
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), took, async (steps, tookMs) => {
      const coalesce = createCoalescer<number>()
      let acknowledged = 0
      let reads = 0
      async function read(): Promise<number> {
        const seen = acknowledged
        await sleep(tookMs[reads++ % tookMs.length])
        return seen
      }
      const results: Promise<void>[] = []
      for (const { kind, key, pauseMs } of steps) {
        const known = acknowledged
        if (kind === 'write') acknowledged++
        else results.push(coalesce(key, read).then((seen) => expect(seen).toBeGreaterThanOrEqual(known)))
        if (pauseMs) await sleep(pauseMs - 1)
      }
      await Promise.all(results)
    }),
    { numRuns: 50 },
  )
})

test('lookups that are batched share one read, which starts after all of them', async () => {
  const batches: number[][] = []
  const load = createBatcher(async (ids: Set<number>) => {
    batches.push([...ids])
    return new Map([...ids].filter((id) => id < 3).map((id) => [id, `value ${id}`]))
  })
  expect(await Promise.all([1, 2, 1, 3].map(load))).toEqual(['value 1', 'value 2', 'value 1', undefined])
  expect(await load(2)).toBe('value 2')
  expect(batches).toEqual([[1, 2, 3], [2]])
})
