import type { Config } from './config.ts'

/** The limits of clients and of overload that the configuration does not set. */
const LIMITS = {
  rateLimitWindowS: 60,
  /** Maximum number of failed authentications of one IP address (IPv6: of one /64 network) in a window. */
  failedAuthentications: 12_000,
  /** New requests are shed while more requests than this wait for a connection or for the next batch. */
  shedQueueLength: 1_000,
  /** New requests are shed while one has waited longer than this for a connection. */
  shedQueueMs: 500,
  /** New requests are shed while the event loop is further behind than this. */
  shedLagMs: 500,
  /** A request that has waited longer than this for a turn of its client is shed. */
  turnWaitMs: 500,
  /** How long the headers of a request may take to arrive, at most REQUEST_TIMEOUT_MS. */
  headersTimeoutMs: 10_000,
  /** Maximum number of open subscriptions of one client in one process. */
  streamsPerClient: 5_000,
  /** A stream whose client reads nothing for this time is closed. */
  writeTimeoutMs: 30_000,
  /** Other responses have `writeTimeoutMs` or, if that is longer, REQUEST_TIMEOUT_MS and this time. */
  responseSpareMs: 5_000,
  /** How long the verification of the key of a stream may take, the wait for a connection included. */
  verifyTimeoutMs: 500,
}

export type DatabaseTimeouts = ReturnType<typeof databaseTimeoutsOf>

export type Limits = typeof LIMITS & DatabaseTimeouts

/** @param changed other limits, for tests */
export function limitsOf(config: Pick<Config, 'HANDLER_TIMEOUT_MS'>, changed: Partial<Limits> = {}): Limits {
  return { ...LIMITS, ...databaseTimeoutsOf(config.HANDLER_TIMEOUT_MS), ...changed }
}

/** Inner timeouts expire before outer ones, so that the layer that knows the cause sends the response. */
function databaseTimeoutsOf(handlerTimeoutMs: number) {
  const fifthMs = Math.floor(handlerTimeoutMs / 5)
  return {
    /** How long PostgreSQL lets a statement wait for a lock, and how long it lets a statement run. */
    lockTimeoutMs: fifthMs,
    statementTimeoutMs: 2 * fifthMs,
    /** How long the service waits for the response to a statement. */
    queryTimeoutMs: 3 * fifthMs,
    /** How long a statement waits for a connection. Counts, which wait for each other, may wait longer. */
    checkoutTimeoutMs: fifthMs,
    countCheckoutTimeoutMs: 4 * fifthMs,
  }
}
