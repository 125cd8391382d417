import { setTimeout as sleep } from 'node:timers/promises'
import fc from 'fast-check'
import pg from 'pg'
import { describe, expect, test } from 'vitest'
import { Batcher, MAX_BATCH_SIZE } from '../../src/database/batcher.ts'

/** A batcher whose statements the test sends and ends. */
function createHarness() {
  const statements: { send(): number[]; succeed(): void; fail(error: Error): void }[] = []
  const batcher = new Batcher<number, string>(
    (take) =>
      new Promise((resolve, reject) => {
        let inputs: number[] = []
        statements.push({
          send: () => (inputs = take()),
          succeed: () => resolve(inputs.map((input) => `output ${input}`)),
          fail: reject,
        })
      }),
  )
  /** Waits until this number of statements have been started; returns the last of them. */
  async function statement(n: number) {
    while (statements.length < n) await sleep(1)
    return statements[n - 1]!
  }
  return {
    batcher,
    statements,
    statement,
    /** Sends a statement and ends it. @returns its inputs */
    async succeed(n: number) {
      const { send, succeed } = await statement(n)
      const inputs = send()
      succeed()
      return inputs
    },
  }
}

const rejected = Object.assign(new pg.DatabaseError('violates check constraint', 0, 'error'), { code: '23514' })
const terminated = Object.assign(new pg.DatabaseError('terminating connection', 0, 'error'), { code: '57P01' })

describe('inputs that wait', () => {
  test('wait for a statement that hangs for a tenth of a second [W10]', async () => {
    const { batcher, statement, succeed } = createHarness()
    void batcher.execute(1)
    ;(await statement(1)).send()
    const next = batcher.execute(2)
    expect(await succeed(2)).toEqual([2]) // while the first has not ended
    expect(await next).toBe('output 2')
  })
})

describe('a failed statement', () => {
  test('that was not sent for lack of a connection rejects none that arrived while it waited', async () => {
    const { batcher, statement, succeed } = createHarness()
    const first = batcher.execute(1)
    const failing = await statement(1)
    const later = batcher.execute(2)
    failing.fail(terminated)
    await expect(first).rejects.toBe(terminated)
    expect(await Promise.race([later, succeed(2)])).toEqual([2])
    expect(await later).toBe('output 2')
  })

  test('that PostgreSQL rejected is executed again for each input alone, and holds back none that arrive meanwhile [W12]', async () => {
    const { batcher, statement, succeed } = createHarness()
    const failing = Promise.allSettled([1, 2].map((input) => batcher.execute(input)))
    const all = await statement(1)
    all.send()
    all.fail(rejected)
    const first = await statement(2)
    expect(first.send()).toEqual([1])
    const later = batcher.execute(3)
    first.fail(rejected)
    const second = await statement(3)
    const sent = second.send()
    const last = batcher.execute(4)
    second.succeed()
    expect([...sent, ...(await succeed(4)), ...(await succeed(5))].sort()).toEqual([2, 3, 4])
    expect(await Promise.all([later, last])).toEqual(['output 3', 'output 4'])
    expect(await failing).toMatchObject([{ reason: rejected }, { value: 'output 2' }])
  })

  test('whose result cannot be read is not executed again: it may have written', async () => {
    const { batcher, statement, statements } = createHarness()
    const outputs = Promise.allSettled([1, 2].map((input) => batcher.execute(input)))
    const failing = await statement(1)
    failing.send()
    failing.fail(new TypeError('not a row'))
    expect((await outputs).map(({ status }) => status)).toEqual(['rejected', 'rejected'])
    await sleep(10)
    expect(statements).toHaveLength(1)
  })
})

test('every input is sent exactly once, gets its own output, and no batch is too large, in any interleaving [W10]', async () => {
  const step = fc.record({ count: fc.integer({ min: 1, max: 150 }), pauseMs: fc.nat(2) })
  const durations = fc.array(fc.nat(5), { minLength: 1 })
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 12 }), durations, async (steps, durationsMs) => {
      const sent: number[] = []
      let statements = 0
      const batcher = new Batcher<number, number>(async (take) => {
        const ms = durationsMs[statements++ % durationsMs.length] ?? 0
        await sleep(ms) // for a connection
        const inputs = take()
        expect(inputs.length).toBeLessThanOrEqual(MAX_BATCH_SIZE)
        sent.push(...inputs)
        await sleep(ms)
        return inputs.map((input) => -input)
      })
      const outputs: Promise<number>[] = []
      for (const { count, pauseMs } of steps) {
        for (let n = 0; n < count; n++) outputs.push(batcher.execute(outputs.length))
        if (pauseMs) await sleep(pauseMs - 1)
      }
      expect(await Promise.all(outputs)).toEqual(outputs.map((_output, input) => -input))
      expect(sent.toSorted((a, b) => a - b)).toEqual(outputs.map((_output, input) => input))
      expect(batcher.waitingCount).toBe(0)
    }),
    { numRuns: 40 },
  )
})
