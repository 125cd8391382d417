import { setTimeout as sleep } from 'node:timers/promises'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createCoalescer } from '../src/coalesce.ts'

test('a read waits for one in flight that hangs for at most MAX_WAIT_MS, with all that are requested meanwhile', async () => {
  const coalesce = createCoalescer<number>()
  let end = () => {}
  const hanging = coalesce('a', () => new Promise((resolve) => (end = () => resolve(1))))
  let reads = 0
  const others = [1, 2, 3].map(() => coalesce('a', async () => ++reads))
  expect(await Promise.all(others)).toEqual([1, 1, 1])
  end()
  expect(await hanging).toBe(1)
})

test('no result and no error is older than its request, for any interleaving of reads and writes', async () => {
  const step = fc.record({ kind: fc.constantFrom('read', 'write'), key: fc.constantFrom('a', 'b'), pauseMs: fc.nat(3) })
  const durations = fc.array(fc.nat(4), { minLength: 1 })
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), durations, async (steps, durationsMs) => {
      const coalesce = createCoalescer<number>()
      let acknowledged = 0
      let reads = 0
      async function read(): Promise<number> {
        const [n, seen] = [reads++, acknowledged]
        await sleep(durationsMs[n % durationsMs.length])
        if (n % 3 === 2) throw Object.assign(new Error('failed'), { seen })
        return seen
      }
      const seenBy = (key: string) => coalesce(key, read).catch(({ seen }: { seen: number }) => seen)
      const results: Promise<void>[] = []
      for (const { kind, key, pauseMs } of steps) {
        const acknowledgedBefore = acknowledged
        if (kind === 'write') acknowledged++
        else results.push(seenBy(key).then((seen) => expect(seen).toBeGreaterThanOrEqual(acknowledgedBefore)))
        if (pauseMs) await sleep(pauseMs - 1)
      }
      await Promise.all(results)
    }),
    { numRuns: 50 },
  )
})
