import type { Config } from './config.ts'

/** What bounds clients and overload, beside the configuration. Times are in milliseconds. */
const LIMITS = {
  rateLimitWindowS: 60,
  /** Failed authentications in a window of one IP address (IPv6: of one /64 network). */
  failedAuthentications: 12_000,
  /** New requests are shed while more requests than this wait for a connection or for the next batch. */
  shedQueueLength: 1_000,
  /** New requests are shed while one has waited longer than this for a connection. */
  shedQueueMs: 500,
  /** New requests are shed while the event loop is further behind than this. */
  shedLagMs: 500,
  /** New requests of a client are shed while one of its requests has waited longer than this for a turn. */
  turnWaitMs: 500,
  /** How long the headers of a request may take to arrive, at most REQUEST_TIMEOUT_MS. */
  headersTimeoutMs: 10_000,
  /** Open subscriptions of one client and process. */
  streamsPerClient: 5_000,
  /** How long a client may take none of the data that waits for it; of a response, at least as `responseSpareMs` says. */
  writeTimeoutMs: 30_000,
  /** How much longer than REQUEST_TIMEOUT_MS a client may take none of a response. */
  responseSpareMs: 5_000,
  /** How long the verification of the key of a stream may take, the wait for a connection included. */
  verifyTimeoutMs: 500,
}

/**
 * The time of a statement (`lock_timeout` and `statement_timeout` of PostgreSQL), of its response, and of the wait for a
 * connection; for that of counts four times as long, because they wait for each other.
 */
export type DatabaseTimeouts = Record<
  `${'lock' | 'statement' | 'query' | 'checkout' | 'countCheckout'}TimeoutMs`,
  number
>

export type Limits = typeof LIMITS & DatabaseTimeouts

/**
 * The timeouts of the database are shares of HANDLER_TIMEOUT_MS, and inner ones expire before outer ones, so that the
 * layer that knows the cause sends the response. @param changed other limits, for tests
 */
export function limitsOf(config: Pick<Config, 'HANDLER_TIMEOUT_MS'>, changed: Partial<Limits> = {}): Limits {
  const fifthMs = Math.floor(config.HANDLER_TIMEOUT_MS / 5)
  return {
    ...LIMITS,
    lockTimeoutMs: fifthMs,
    statementTimeoutMs: 2 * fifthMs,
    queryTimeoutMs: 3 * fifthMs,
    checkoutTimeoutMs: fifthMs,
    countCheckoutTimeoutMs: 4 * fifthMs,
    ...changed,
  }
}
