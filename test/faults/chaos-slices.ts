import { expect, onTestFinished } from 'vitest'
import type { Defer, Measurement } from '../chaos/assertions.ts'
import { issueKey, type TestDatabase } from '../chaos/cluster.ts'
import { cloneDatabase, dropDatabase } from '../support/harness.ts'

/** Cleans up what a part started after the test, also if it fails. */
export const defer: Defer = (cleanUp) => onTestFinished(cleanUp, 120_000)

/** A new database on the tests' server, for parts that do not stop the server. */
export async function cloneTestDatabase(): Promise<TestDatabase> {
  const url = await cloneDatabase()
  defer(() => dropDatabase(url))
  return { url, key: await issueKey(url) }
}

/** Expects that every bound of a part holds, except bounds on time, since test files run concurrently. */
export function expectBoundsHold(measurements: Measurement[]): void {
  const bounded = measurements.filter(({ bound, needsQuietMachine }) => bound !== '' && !needsQuietMachine)
  expect(bounded.length).toBeGreaterThan(0)
  expect(bounded.filter(({ holds }) => !holds)).toEqual([])
}
