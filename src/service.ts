import type { Tracer } from '@opentelemetry/api'
import type { Logger } from 'pino'
import { pruneIdempotencyKeys } from './animals/idempotency.ts'
import { createAnimals } from './animals/service.ts'
import { createApp, createMetricsApp } from './app.ts'
import { type ApiKeys, createApiKeys } from './auth/api-keys.ts'
import { createRateLimiter, deleteExpiredWindows } from './auth/rate-limiter.ts'
import { createKeyLookup } from './auth/key-lookup.ts'
import { createUsage, type Usage, USAGE_FLUSH_MS } from './auth/usage.ts'
import { createCoalescer } from './coalesce.ts'
import { type Config, version } from './config.ts'
import { createDatabase, createPool, type Database, type Pool } from './database/client.ts'
import { pendingMigrations } from './database/migrate.ts'
import type { TrustedDocuments } from './graphql/trusted-documents.ts'
import { createHttpServer } from './http/connection/server.ts'
import type { Health } from './http/health.ts'
import { createLoadShedder } from './http/load-shedding.ts'
import { createDatabaseMonitor } from './telemetry/database-monitor.ts'
import { createErrorLog } from './telemetry/error-log.ts'
import { observeRejections } from './telemetry/access-log.ts'
import { throttledWarning } from './telemetry/logger.ts'
import { createMetrics, type MetricSources } from './telemetry/metrics.ts'

const RATE_LIMIT_POOL_SIZE = 2

/** What the service reads of the configuration. */
type Settings = Pick<
  Config,
  | 'databasePoolSize'
  | 'environments'
  | 'corsOrigins'
  | 'rateLimits'
  | 'trustedProxies'
  | 'shedding'
  | 'metricsPort'
  | 'timeouts'
>

export interface ServiceOptions extends Settings {
  databaseUrl: string
  log: Logger
  /** Trusted documents; any GraphQL document is accepted by default. */
  trusted?: TrustedDocuments
  /** Aggregates the metrics of all workers of a cluster. */
  gatherMetrics?: MetricSources['gatherMetrics']
  /** Creates spans of requests, operations and statements; none without a tracer. */
  tracer?: Tracer | undefined
  /** The clock of API keys and of deprecation; tests bring their own. */
  now?: () => Date
}

export interface Service {
  database: Database
  keys: ApiKeys
  /**
   * Listens for requests.
   * @returns the port, which the system chooses for port 0
   * @throws Node's error when it cannot listen there
   */
  start(options: { port: number; host: string }): Promise<number>
  /** Shuts down gracefully. `HttpServer.close` documents the two times, in milliseconds. */
  stop(drainDelayMs: number, drainTimeoutMs: number): Promise<void>
}

/** Builds the service on a database, for the program and for tests. It serves nothing before `start`. */
export function createService(options: ServiceOptions): Service {
  const { log, timeouts, now = () => new Date() } = options
  const { database, rateLimitPool, readinessPool } = createPools(options, () => observed.monitor.check())
  const keyLookup = createKeyLookup(database.pool, now)
  const usage = createUsage(database.prisma)
  const limiters = createLimiters(options, rateLimitPool)
  const loadShedder = createLoadShedder(options.shedding, database)
  const metrics = createMetrics({ ...options, ...limiters, ...database, version, keyLookup, loadShedder })
  let stopping: Promise<void> | undefined
  const observed = observeDatabase(options, readinessPool, () => stopping !== undefined)
  const app = createApp({
    ...options,
    ...limiters,
    animals: createAnimals(database.prisma, database.statements),
    keyLookup,
    loadShedder,
    ...observed,
    metrics,
    now,
    recordUse: ({ keyId }) => usage.recordUse(keyId, now()),
    recordDeprecatedCall({ keyId, keyPrefix }) {
      usage.recordDeprecatedCall(keyId, now())
      metrics.recordDeprecatedCall(keyPrefix)
    },
  })
  const stopJobs = startJobs(log, usage, database, rateLimitPool)
  const onRejected = observeRejections(log, metrics)
  const server = createHttpServer(app, timeouts, onRejected)
  const metricsServer = createHttpServer(createMetricsApp({ ...observed, metrics, timeouts }), timeouts, onRejected)

  async function stop(drainDelayMs: number, drainTimeoutMs: number): Promise<void> {
    await Promise.all([server, metricsServer].map((one) => one.close(drainDelayMs, drainTimeoutMs)))
    loadShedder.stop()
    observed.monitor.stop()
    await stopJobs()
    await Promise.all([database.close(), rateLimitPool?.end(), readinessPool.end()])
  }

  return {
    database,
    keys: createApiKeys(database, now),
    async start({ port, host }) {
      observed.monitor.check()
      await connectRateLimitPool(rateLimitPool)
      if (options.metricsPort !== undefined) await metricsServer.listen(options.metricsPort, host)
      return server.listen(port, host)
    },
    stop: (drainDelayMs, drainTimeoutMs) => (stopping ??= stop(drainDelayMs, drainTimeoutMs)),
  }
}

/** One pool for requests; one each for the rate-limit store and the readiness probe, which must not wait for it. */
function createPools(options: ServiceOptions, onConnectionLost: () => void) {
  const { databaseUrl: url, databasePoolSize, rateLimits, timeouts, tracer } = options
  const warn = throttledWarning(options.log, 'connection lost', 1_000)
  const onIdleError = (error: Error) => {
    warn({ reason: error.message })
    onConnectionLost()
  }
  // Short timeouts: a slow rate-limit store never delays requests.
  const rateLimitMs = timeouts.checkoutMs / 2
  const rateLimitTimeouts = { ...timeouts, checkoutMs: rateLimitMs, queryMs: rateLimitMs }
  return {
    database: createDatabase({ url, size: databasePoolSize, timeouts, onIdleError, tracer }),
    rateLimitPool: rateLimits.shared
      ? createPool({ url, size: RATE_LIMIT_POOL_SIZE, timeouts: rateLimitTimeouts, onIdleError, tracer })
      : undefined,
    // A saturated pool does not make the instance unready.
    readinessPool: createPool({ url, size: 1, timeouts, onIdleError }),
  }
}

/** Connects to the rate-limit store before the first burst of requests, whose checkouts would time out meanwhile. */
async function connectRateLimitPool(pool: Pool | undefined): Promise<void> {
  await Promise.allSettled(Array.from({ length: RATE_LIMIT_POOL_SIZE }, () => pool?.query('SELECT 1')))
}

/** The rate limiters; undefined where the configuration sets no limit. */
function createLimiters({ rateLimits, log }: ServiceOptions, store: Pool | undefined) {
  const { points, wrongKeys, windowSeconds } = rateLimits
  const warn = throttledWarning(log, 'rate-limit store unavailable, limiting per process', 60_000)
  const onStoreError = (err: unknown) => warn({ err })
  return {
    keyLimiter: points ? createRateLimiter({ name: 'key', points, windowSeconds, store, onStoreError }) : undefined,
    failedAuthLimiter: wrongKeys
      ? createRateLimiter({ name: 'wrong-keys', points: wrongKeys, windowSeconds })
      : undefined,
  }
}

/** The readiness probe, and the log of outages, which share one connection and one query. */
function observeDatabase({ log, databaseUrl }: ServiceOptions, readinessPool: Pool, isDraining: () => boolean) {
  const coalesce = createCoalescer<string[]>()
  const health: Health = {
    isDraining,
    pendingMigrations: () => coalesce('migrations', () => pendingMigrations(readinessPool)),
  }
  const monitor = createDatabaseMonitor(log, databaseUrl, health.pendingMigrations)
  return { health, monitor, logError: createErrorLog(log, monitor.check) }
}

/**
 * Starts the background jobs. A job that fails is logged and runs again at its next interval.
 * @returns stops all jobs and flushes the usage
 */
function startJobs(log: Logger, usage: Usage, { prisma }: Database, rateLimitPool: Pool | undefined) {
  const jobs = [
    { everyMs: USAGE_FLUSH_MS, run: () => usage.flush() },
    { everyMs: 3_600_000, run: () => pruneIdempotencyKeys(prisma) },
    { everyMs: 300_000, run: async () => rateLimitPool && deleteExpiredWindows(rateLimitPool) },
  ]
  const onError = (err: unknown) => log.warn({ err }, 'background job failed')
  const timers = jobs.map(({ everyMs, run }) => setInterval(() => void run().catch(onError), everyMs).unref())
  return async () => {
    timers.forEach((timer) => clearInterval(timer))
    await usage.flush().catch((err: unknown) => log.warn({ err }, 'failed to flush key usage'))
  }
}
