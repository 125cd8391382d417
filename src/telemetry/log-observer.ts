import type { Request } from 'express'
import type { Logger } from 'pino'
import { clientNetwork } from '../lib/client-network.ts'
import { reasonOf } from '../database/failures.ts'
import { createThrottledLog, toLoggedName } from './logger.ts'
import type { Observation, Observe } from './observation.ts'
import { type RecordSpan, TRACEPARENT } from './tracing.ts'

/**
 * How long failures with the same message share a line, and requests of one address without a valid API key, in
 * milliseconds: an outage fails every request.
 */
const FAILURE_INTERVAL_MS = 1_000

/** A lasting condition, such as an excluded replica, has at most one line for a reason in this time, in milliseconds. */
const INTERVAL_MS = 60_000

/** How long new items may wait for a transaction before it is logged, in seconds. */
const MAX_FEED_WAIT_S = 10

const PROBES = new Set(['/livez', '/readyz'])

type Observed<Type> = Extract<Observation, { type: Type }>

/** @param databaseUrl only its host is logged @returns a function that logs what an operator may want to know */
export function createLogObserver(log: Logger, databaseUrl: string, recordSpan?: RecordSpan): Observe {
  const warnOnceASecond = createThrottledLog(log, FAILURE_INTERVAL_MS)
  const warnOnceAMinute = createThrottledLog(log, INTERVAL_MS)
  const informOnceAMinute = createThrottledLog(log, INTERVAL_MS, 'info')

  const logs: { [Type in Observation['type']]: (event: Observed<Type>) => void } = {
    request: createAccessLog(log, recordSpan),
    'request-rejected': ({ requestId, status, code }) => log.info({ requestId, status, code }, 'request rejected'),
    /** Logs a 5xx with its cause, which no response shows. A probe without a cause reports a state that has its own line. */
    error({ error, req: { id: requestId, routeTemplate } }) {
      const { code, status, message, cause } = error
      if (status === 500) log.error({ requestId, err: cause }, 'unexpected error')
      else if (status > 500 && (cause || !PROBES.has(routeTemplate)))
        warnOnceASecond(message, { requestId, code, reason: cause && reasonOf(cause) })
    },
    'deprecated-call': () => {}, // only a metric
    'token-rejected': ({ reason }) => informOnceAMinute('access token rejected', { reason }, reason),
    'issuer-failed': ({ error }) =>
      warnOnceASecond('failed to fetch the keys of OIDC_ISSUER', { reason: reasonOf(error) }),
    'database-checked': createDatabaseLog(log, databaseUrl),
    'replica-excluded'({ replica }) {
      const message = 'replica excluded for up to a second, reading from the primary'
      warnOnceAMinute(message, replica, `${replica.host} ${replica.reason}`)
    },
    'replicas-bypassed': ({ reason }) => warnOnceAMinute('reading from the primary, no replica excluded', { reason }),
    'feed-failed': ({ resource, error }) =>
      warnOnceASecond('failed to read new items', { resource, reason: reasonOf(error) }, `feed of ${resource}`),
    'sequence-read'({ resource, lagMs, problem }) {
      const seconds = Math.round(lagMs / 1_000)
      const message = 'new items wait for an open transaction'
      if (seconds >= MAX_FEED_WAIT_S) warnOnceAMinute(message, { resource, seconds }, `${message}: ${resource}`)
      if (problem) warnOnceAMinute('the sequence of ids must be repaired', { resource, reason: problem }, problem)
    },
    'job-failed': ({ error }) => log.warn({ err: error }, 'background job failed'),
  }
  return (event) => logs[event.type](event as never) // an event of this type
}

/** @returns a function that logs changes of `/readyz`, with the reason, and settings with which a crash can undo a write */
function createDatabaseLog(log: Logger, databaseUrl: string) {
  const { host } = new URL(databaseUrl)
  let last: string | undefined
  let lastNotDurable = ''
  let unavailableSinceMs = 0

  return ({ problem, notDurable }: Observed<'database-checked'>): void => {
    if (problem !== last) {
      if (!last) unavailableSinceMs = performance.now()
      const seconds = Math.round((performance.now() - unavailableSinceMs) / 1_000)
      if (problem) log.warn({ host, reason: problem }, 'database unavailable')
      else log.warn({ host, seconds }, 'database available again')
      last = problem
    }
    const names = notDurable?.join(', ') ?? lastNotDurable
    const reason = `${names} off: set them on, or a crash can undo a 201`
    if (names && names !== lastNotDurable) log.warn({ host, reason }, 'acknowledged writes can be lost')
    lastNotDurable = names
  }
}

/**
 * @returns a function that logs and traces a request that has ended. It records the route template and not the URL, so an
 *   API key in a URL is not logged
 */
function createAccessLog(log: Logger, recordSpan?: RecordSpan) {
  const logUnauthenticated = createThrottledLog(log, FAILURE_INTERVAL_MS, 'info')
  return ({ req, res, status }: Observed<'request'>): void => {
    const { id: requestId, method, operation, errorCode: code, deadline, caller, headers, stream } = req
    const route = req.routeTemplate
    const isRejected = status === 401 || status === 429
    const details = {
      requestId,
      traceparent: recordSpan?.(req, res) ?? TRACEPARENT.exec(String(headers.traceparent))?.[0],
      key: caller?.keyPrefix,
      subject: caller?.subject,
      client: isRejected ? req.ip : undefined,
      app: appOf(req),
      method,
      route,
      operation: operation && `${operation.type} ${operation.name ?? ''}`.trimEnd(),
      status,
      code,
      ms: roundToMicroseconds(deadline.elapsedMs),
      databaseMs: roundToMicroseconds(deadline.databaseMs),
      events: stream?.events,
      ended: stream && (stream.endReason ?? 'client'), // the stream may not know yet that the client has left
    }
    const message = res.writableFinished ? 'request' : 'client disconnected'
    if (isRejected && !caller) logUnauthenticated(message, details, clientNetwork(req))
    else log[PROBES.has(route) && status < 400 ? 'debug' : 'info'](details, message)
  }
}

/** The name and version that a GraphQL client gives of itself. */
export function appOf({ headers }: Request): string | undefined {
  const name = headers['graphql-client-name'] ?? headers['apollographql-client-name']
  const version = headers['graphql-client-version'] ?? headers['apollographql-client-version']
  return name === undefined ? undefined : toLoggedName(`${name} ${version ?? ''}`.trimEnd())
}

function roundToMicroseconds(ms: number): number {
  return Math.round(ms * 1_000) / 1_000
}
