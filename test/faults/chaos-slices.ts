import { expect, onTestFinished } from 'vitest'
import type { Defer, Measurement } from '../chaos/assertions.ts'
import { issueKey, type TestDatabase } from '../chaos/cluster.ts'
import { cloneDatabase, dropDatabase } from '../support/harness.ts'

/** What a part started ends with the test, also after a failure. */
export const defer: Defer = (end) => onTestFinished(end, 120_000)

/** A database of its own on the tests' server, for parts that do not kill it. */
export async function cloneTestDatabase(): Promise<TestDatabase> {
  const url = await cloneDatabase()
  defer(() => dropDatabase(url))
  return { url, key: await issueKey(url) }
}

/** Every promise of a part holds, but for those about time: test files run beside each other. */
export function expectBoundsHold(figures: Measurement[]): void {
  const promises = figures.filter(({ bound: must, needsQuietMachine: ofMachine }) => must !== '' && !ofMachine)
  expect(promises.length).toBeGreaterThan(0)
  expect(promises.filter(({ holds }) => !holds)).toEqual([])
}
