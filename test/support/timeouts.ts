import { vi } from 'vitest'

/**
 * The environment of every service and program that a test starts: a busy machine does not fail a test. A test about a
 * timeout sets a short one itself.
 */
export const GENEROUS_TIMEOUTS = {
  DATABASE_LOCK_TIMEOUT_MS: '20000',
  DATABASE_STATEMENT_TIMEOUT_MS: '30000',
  DATABASE_QUERY_TIMEOUT_MS: '40000',
  DATABASE_CHECKOUT_TIMEOUT_MS: '40000',
  HANDLER_TIMEOUT_MS: '100000',
  HEADERS_TIMEOUT_MS: '120000',
  REQUEST_TIMEOUT_MS: '120000',
}

const LIMIT = { timeout: 120_000, interval: 10 }

/** vi.waitUntil without its limit of a second. */
export function waitUntil(condition: () => unknown): Promise<unknown> {
  return vi.waitUntil(condition, LIMIT)
}

/** vi.waitFor without its limit of a second. */
export function waitFor<T>(assertion: () => T | Promise<T>): Promise<T> {
  return vi.waitFor(assertion, LIMIT)
}
