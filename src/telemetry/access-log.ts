import type { Request, Response } from 'express'
import type { Logger } from 'pino'
import { createThrottledLog, toLoggedName } from './logger.ts'
import { type RecordSpan, TRACEPARENT } from './tracing.ts'

/** At most one line in this time, in milliseconds, for the requests of an IP address without a valid API key. */
const UNAUTHENTICATED_INTERVAL_MS = 1_000

const PROBES = new Set(['/livez', '/readyz'])

interface EndedRequest {
  req: Request
  res: Response
  status: number
}

/**
 * @returns logs and traces a request that has ended. Of the URL only the route template is recorded, so API keys are not
 *   logged
 */
export function createAccessLog(log: Logger, recordSpan: RecordSpan = () => undefined) {
  const logUnauthenticated = createThrottledLog(log, UNAUTHENTICATED_INTERVAL_MS, 'info')
  return ({ req, res, status }: EndedRequest): void => {
    const { id: requestId, method, operation, errorCode: code, deadline, caller, headers, stream } = req
    const route = req.routeTemplate
    const client = status === 401 || status === 429 ? req.ip : undefined
    const details = {
      requestId,
      traceparent: recordSpan(req, res) ?? TRACEPARENT.exec(String(headers.traceparent))?.[0],
      key: caller?.keyPrefix,
      subject: caller?.subject,
      client,
      app: appOf(req),
      method,
      route,
      operation: operation && `${operation.type} ${operation.name ?? ''}`.trimEnd(),
      status,
      code,
      ms: roundToMicroseconds(deadline.elapsedMs),
      databaseMs: roundToMicroseconds(deadline.databaseMs),
      events: stream?.events,
      ended: stream && (stream.endReason ?? 'client'), // this may be the first to know
    }
    const message = res.writableFinished ? 'request' : 'client disconnected'
    if (client && !caller) logUnauthenticated(message, details, client)
    else log[PROBES.has(route) && status < 400 ? 'debug' : 'info'](details, message)
  }
}

/** What a GraphQL client says that it is. */
function appOf({ headers }: Request): string | undefined {
  const name = headers['graphql-client-name'] ?? headers['apollographql-client-name']
  const version = headers['graphql-client-version'] ?? headers['apollographql-client-version']
  return name === undefined ? undefined : toLoggedName(`${name} ${version ?? ''}`.trimEnd())
}

function roundToMicroseconds(ms: number): number {
  return Math.round(ms * 1_000) / 1_000
}
