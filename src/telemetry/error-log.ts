import type { Logger } from 'pino'
import { reasonOf } from '../database/errors.ts'
import { throttledByReason, throttledWarning } from './logger.ts'

/** How often failures with the same message are logged, in milliseconds: an outage fails every request. */
const INTERVAL_MS = 1_000

/** Logs the cause of a 5xx, which no response shows. */
export type LogError = (error: LoggedError, requestId: string) => void

/** What is logged of an ApiError. */
interface LoggedError {
  code: string
  status: number
  message: string
  cause?: unknown
}

/** @param onDatabaseFailure called for each request that failed because of the database */
export function createErrorLog(log: Logger, onDatabaseFailure: () => void): LogError {
  const warnings = new Map<string, (details: object) => void>()
  return ({ code, status, message, cause }, requestId) => {
    if (status === 500) log.error({ requestId, err: cause }, 'unexpected error')
    if (status <= 500 || !cause) return
    const warn = warnings.get(message) ?? throttledWarning(log, message, INTERVAL_MS)
    warnings.set(message, warn)
    warn({ requestId, code, reason: reasonOf(cause) })
    onDatabaseFailure()
  }
}

/** @returns logs failures of a kind, at most once in each interval, and calls `onFailure` for each of them */
export function logFailures(log: Logger, message: string, onFailure = () => {}): (error: unknown) => void {
  const warn = throttledWarning(log, message, INTERVAL_MS)
  return (error) => {
    warn({ reason: reasonOf(error) })
    onFailure()
  }
}

/** @returns logs lost connections and replicas that are left out, with the options' names of createPools */
export function logPools(log: Logger, onConnectionLost: () => void) {
  return {
    onIdleError: logFailures(log, 'connection lost', onConnectionLost),
    onReplicaLeftOut: throttledByReason(log, 'replica left out for up to a second, reading from the primary', 60_000),
  }
}
