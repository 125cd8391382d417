import { setTimeout as sleep } from 'node:timers/promises'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createCoalescer } from '../src/coalesce.ts'

/** A read whose end is in the hands of the test; it answers what was there when it began. */
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

describe('reads that are the same', () => {
  test('asked for in one turn of the event loop are one', async () => {
    const [join, store] = [createCoalescer<number>(), createStore()]
    const all = [1, 2, 3].map(() => join('a', store.read))
    const other = join('b', store.read)
    await store.begun(2)
    store.reads.forEach((read) => read.end())
    expect(await Promise.all([...all, other])).toEqual([0, 0, 0, 0])
    expect(store.reads).toHaveLength(2)
  })

  test('asked for while one is under way get the next, which sees what was written meanwhile', async () => {
    const [join, store] = [createCoalescer<number>(), createStore()]
    const first = join('a', store.read)
    await store.begun(1)
    store.value = 1 // and acknowledged
    const later = [join('a', store.read), join('a', store.read)]
    store.reads[0]?.end()
    await store.begun(2)
    store.reads[1]?.end()
    expect(await Promise.all([first, ...later])).toEqual([0, 1, 1])
    expect(store.reads).toHaveLength(2)
  })

  test('wait for one that hangs no longer than their patience', async () => {
    const [join, store] = [createCoalescer<number>(), createStore()]
    const hangs = join('a', store.read)
    await store.begun(1)
    const next = join('a', store.read)
    await store.begun(2)
    store.reads[1]?.end()
    expect(await next).toBe(0)
    store.reads[0]?.end()
    await hangs
  })

  test('fail together, and the next is asked anew', async () => {
    const [join, store] = [createCoalescer<number>(), createStore()]
    const both = [join('a', store.read), join('a', store.read)]
    await store.begun(1)
    const next = join('a', store.read)
    store.reads[0]?.fail()
    expect((await Promise.allSettled(both)).map(({ status }) => status)).toEqual(['rejected', 'rejected'])
    await store.begun(2)
    store.reads[1]?.end()
    expect(await next).toBe(0)
  })

  test('a read that throws before it returns is one that fails', async () => {
    const join = createCoalescer<number>()
    const broken = () => {
      throw new Error('broken')
    }
    await expect(join('a', broken)).rejects.toThrow('broken')
    expect(await join('a', async () => 1)).toBe(1)
  })
})

test('no answer is older than its request, however reads and writes fall', async () => {
  const step = fc.record({ kind: fc.constantFrom('read', 'write'), key: fc.constantFrom('a', 'b'), pauseMs: fc.nat(3) })
  const took = fc.array(fc.nat(4), { minLength: 1 })
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), took, async (steps, tookMs) => {
      const join = createCoalescer<number>()
      let acknowledged = 0
      let reads = 0
      async function read(): Promise<number> {
        const seen = acknowledged
        await sleep(tookMs[reads++ % tookMs.length])
        return seen
      }
      const answers: Promise<void>[] = []
      for (const { kind, key, pauseMs } of steps) {
        const known = acknowledged
        if (kind === 'write') acknowledged++
        else answers.push(join(key, read).then((seen) => expect(seen).toBeGreaterThanOrEqual(known)))
        if (pauseMs) await sleep(pauseMs - 1)
      }
      await Promise.all(answers)
    }),
    { numRuns: 50 },
  )
})
