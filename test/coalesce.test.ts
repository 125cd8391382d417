import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { createCoalescer } from '../src/coalesce.ts'
import { waitUntil } from './support/timeouts.ts'

/** Reads with the same key, and the functions that end those that have begun. */
function createReads() {
  const coalesce = createCoalescer<void>()
  const ends: (() => void)[] = []
  const read = () => coalesce('a', () => new Promise((resolve) => void ends.push(resolve)))
  return { ends, read }
}

test('equal reads are one in the next turn of the event loop if the read before was shared', async () => {
  const { ends, read } = createReads()
  const before = [read(), read(), read()]
  ends[0]?.()
  await waitUntil(() => ends.length === 2)
  ends[1]?.()
  await Promise.all(before)
  const all = [read(), read(), read()]
  expect(ends).toHaveLength(2)
  await nextTurn()
  expect(ends).toHaveLength(3)
  ends[2]?.()
  await Promise.all(all)
})

test('a read that hangs does not hold back the next one', async () => {
  const { ends, read } = createReads()
  void read()
  const next = read()
  await waitUntil(() => ends.length === 2)
  ends[1]?.()
  await next
})
