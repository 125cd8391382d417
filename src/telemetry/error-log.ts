import type { Logger } from 'pino'
import { reasonOf } from '../database/failures.ts'
import type { ApiError } from '../errors.ts'
import { createThrottledLog } from './logger.ts'

/** How often failures with the same message are logged, in milliseconds: an outage fails every request. */
const INTERVAL_MS = 1_000

export type LogError = ReturnType<typeof createErrorLog>

/** Logs the cause of a 5xx, which no response shows. */
export function createErrorLog(log: Logger) {
  const warn = createThrottledLog(log, INTERVAL_MS)
  return ({ code, status, message, cause }: ApiError, requestId: string): void => {
    if (status === 500) log.error({ requestId, err: cause }, 'unexpected error')
    if (status > 500 && cause) warn(message, { requestId, code, reason: reasonOf(cause) })
  }
}

export function logFailures(log: Logger, message: string): (error: unknown) => void {
  const warn = createThrottledLog(log, INTERVAL_MS)
  return (error) => warn(message, { reason: reasonOf(error) })
}
