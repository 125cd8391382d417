import type { RequestHandler } from 'express'
import type { Logger } from 'pino'
import { routeOf } from '../http/routes.ts'
import type { Metrics } from './metrics.ts'
import type { RejectedRequest } from '../http/connection/server.ts'

/** W3C Trace Context §3.2, as every version has it so far: ids of zeros and version ff are none. */
const wellFormed = /^(?!ff)[\da-f]{2}-(?!0{32})[\da-f]{32}-(?!0{16})[\da-f]{16}-[\da-f]{2}$/

/** Most of a name that is told, in characters: clients make them as long as a body may be. */
const MAX_NAME_LENGTH = 100

/** The status that is told of a request without an answer, as nginx has it. */
const CLIENT_CLOSED_REQUEST = 499

/**
 * One line and one observation for each request, when its answer is out or its client gone. The address is told by its
 * template: neither path, query nor headers, so keys stay out, and so that a metric has as many series as we have routes.
 */
export function observeRequests(log: Logger, metrics: Metrics): RequestHandler {
  return (req, res, next) => {
    const route = routeOf(req.path)
    res.once('close', () => {
      const { id: requestId, method, operation, errorCode: code, deadline, caller, headers } = req
      const ms = deadline.elapsedMs
      const status = res.headersSent ? res.statusCode : CLIENT_CLOSED_REQUEST
      metrics.observe({ route, method, operation: operation?.type, status, code, seconds: ms / 1000 })
      log.info(
        {
          requestId,
          traceparent:
            req.traceparent ?? (wellFormed.test(String(headers.traceparent)) ? headers.traceparent : undefined),
          key: caller?.keyPrefix,
          method,
          route,
          operation: operation && `${operation.type} ${operation.name?.slice(0, MAX_NAME_LENGTH) ?? ''}`.trimEnd(),
          status,
          code,
          ms: round(ms),
          databaseMs: round(deadline.databaseMs),
        },
        res.writableFinished ? 'request' : 'client went away',
      )
    })
    next()
  }
}

/** One line and one count for each request that was rejected before the app had it. */
export function observeRejections(log: Logger, metrics: Metrics): (rejected: RejectedRequest) => void {
  return (rejected) => {
    metrics.refused(rejected.code)
    log.info(rejected, 'request refused')
  }
}

/** To a microsecond. */
function round(ms: number): number {
  return Math.round(ms * 1_000) / 1_000
}
