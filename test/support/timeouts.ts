import { onTestFinished, vi } from 'vitest'
import type { Limits } from '../../src/config/limits.ts'

/**
 * Environment of every service and program that a test starts, so that a busy machine does not fail a test. A test of
 * a timeout sets its own short one.
 */
export const GENEROUS_TIMEOUTS = { HANDLER_TIMEOUT_MS: '100000', REQUEST_TIMEOUT_MS: '120000' }

/** Limits of every service that a test starts in its process: two cores are shared by the tests. */
export const GENEROUS_LIMITS = {
  headersTimeoutMs: 120_000,
  lockTimeoutMs: 60_000,
  statementTimeoutMs: 70_000,
  queryTimeoutMs: 80_000,
  checkoutTimeoutMs: 80_000,
  shedQueueLength: Infinity,
  shedQueueMs: Infinity,
  shedLagMs: Infinity,
  turnWaitMs: Infinity,
  verifyTimeoutMs: 60_000,
} satisfies Partial<Limits>

const OPTIONS = { timeout: 200_000, interval: 10 } // less than the timeout of a test, so that the condition is named

/** vi.waitUntil, whose default timeout of one second is too short for a busy machine. */
export const waitUntil = (condition: () => unknown): Promise<unknown> => vi.waitUntil(condition, OPTIONS)

/** vi.waitFor, whose default timeout of one second is too short for a busy machine. */
export const waitFor = <T>(assertion: () => T | Promise<T>): Promise<T> => vi.waitFor(assertion, OPTIONS)

/** Stops the monotonic clock until the end of the test, so that caches keep what they have: only `advance` moves it. */
export function stopClock() {
  let nowMs = Math.ceil(performance.now()) // with a fraction, sums would be inexact
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => nowMs)
  onTestFinished(() => clock.mockRestore())
  return { advance: (ms: number) => void (nowMs += ms) }
}
