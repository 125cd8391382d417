import type { Request, Response } from 'express'
import type { Logger } from 'pino'
import { createThrottledLog } from './logger.ts'
import type { Metrics } from './metrics.ts'
import { type RecordSpan, TRACEPARENT } from './tracing.ts'
import type { RejectedRequest } from '../http/connection/server.ts'

/** nginx's status for a client that closed the connection before the response. */
const CLIENT_CLOSED_REQUEST = 499

/** At most one line in this time, in milliseconds, for the requests of an IP address without a valid API key. */
const UNAUTHENTICATED_INTERVAL_MS = 1_000

const PROBES = new Set(['/livez', '/readyz'])

/**
 * Logs, measures and traces each request when its response is complete or its client has disconnected. Of the URL only
 * the route template is recorded: so API keys are not logged, and each metric has few time series.
 */
export function observeRequests(log: Logger, metrics: Metrics, recordSpan: RecordSpan = () => undefined) {
  const logUnauthenticated = createThrottledLog(log, UNAUTHENTICATED_INTERVAL_MS, 'info')
  return (req: Request, res: Response): void => {
    res.once('close', () => {
      const { id: requestId, method, operation, errorCode: code, deadline, caller, headers, stream } = req
      const route = req.routeTemplate
      const ms = deadline.elapsedMs
      const status = res.headersSent ? res.statusCode : CLIENT_CLOSED_REQUEST
      const seconds = (stream?.beganMs ?? ms) / 1000
      metrics.observe({ route, method, operation: operation?.type, status, code, seconds })
      const client = status === 401 || status === 429 ? req.ip : undefined
      const details = {
        requestId,
        traceparent: recordSpan(req, res) ?? TRACEPARENT.exec(String(headers.traceparent))?.[0],
        key: caller?.keyPrefix,
        subject: caller?.subject,
        client,
        method,
        route,
        operation: operation && `${operation.type} ${operation.name ?? ''}`.trimEnd(),
        status,
        code,
        ms: roundToMicroseconds(ms),
        databaseMs: roundToMicroseconds(deadline.databaseMs),
        events: stream?.events,
        ended: stream && (stream.endReason ?? 'client'), // this listener may be the first to know
      }
      const message = res.writableFinished ? 'request' : 'client disconnected'
      if (client && !caller) logUnauthenticated(message, details, client)
      else log[PROBES.has(route) && status < 400 ? 'debug' : 'info'](details, message)
    })
  }
}

export function observeRejections(log: Logger, metrics: Metrics): (rejected: RejectedRequest) => void {
  return (rejected) => {
    metrics.observeRejection(rejected.code)
    log.info(rejected, 'request rejected')
  }
}

function roundToMicroseconds(ms: number): number {
  return Math.round(ms * 1_000) / 1_000
}
