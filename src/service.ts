import type { Tracer } from '@opentelemetry/api'
import type { Express } from 'express'
import type { Logger } from 'pino'
import { pruneIdempotencyKeys } from './animals/idempotency.ts'
import { createAnimals } from './animals/service.ts'
import { createApp, createMetricsApp } from './app.ts'
import { type ApiKeys, createApiKeys } from './auth/api-keys.ts'
import { createRateLimiter, deleteExpiredWindows } from './auth/rate-limiter.ts'
import { createUsage, USAGE_FLUSH_MS } from './auth/usage.ts'
import { createCoalescer } from './coalesce.ts'
import { type Config, version } from './config.ts'
import { createDatabase, createPool, type Database, type Pool } from './database/client.ts'
import { pendingMigrations } from './database/migrate.ts'
import { TRUSTED_DOCUMENTS_OFF, type TrustedDocuments } from './graphql/trusted-documents.ts'
import { createHttpServer, type HttpServer } from './http/connection/server.ts'
import { createLoadShedder } from './http/load-shedding.ts'
import { observeRejections } from './telemetry/access-log.ts'
import { createMetrics, type MetricSources } from './telemetry/metrics.ts'

/** What the service reads of the configuration. */
type Settings = Pick<
  Config,
  'databasePoolSize' | 'environments' | 'rateLimits' | 'trustedProxies' | 'shedding' | 'metricsPort' | 'timeouts'
>

export interface ServiceOptions extends Settings {
  databaseUrl: string
  log: Logger
  /** GraphQL operations known by their hash; none by default. */
  trusted?: TrustedDocuments
  /** Aggregates the metrics of all processes of a cluster. */
  gatherMetrics?: MetricSources['gather']
  /** Creates spans of requests, operations and statements; none without a tracer. */
  tracer?: Tracer | undefined
  /** The clock; tests bring their own. */
  now?: () => Date
}

export interface Service {
  database: Database
  keys: ApiKeys
  /** @returns the port that it listens on. Rejects with Node's error when it cannot listen there. */
  start(options: { port: number; host: string }): Promise<number>
  /** Shuts down gracefully: HttpServer.close documents the two times, in milliseconds. */
  stop(drainDelayMs: number, drainTimeoutMs: number): Promise<void>
}

/** Builds the service on a database, for the program and for tests alike. Nothing is served before `start`. */
export function createService(options: ServiceOptions): Service {
  const { log, metricsPort, timeouts, trusted = TRUSTED_DOCUMENTS_OFF, tracer, now = () => new Date() } = options
  const { database, rateLimitPool, readinessPool } = createPools(options)
  const keys = createApiKeys(database, now)
  const usage = createUsage(database.prisma)
  const limiters = createLimiters(options, rateLimitPool)
  const loadShedder = createLoadShedder(options.shedding, {
    length: () => database.pool.waitingCount,
    expectedWaitMs: () => database.pool.expectedWaitMs(),
  })
  const metrics = createMetrics({
    version,
    pool: () => database.pool,
    max: options.databasePoolSize,
    keyLookups: keys.lookups,
    shed: loadShedder.counts,
    gather: options.gatherMetrics,
    limited: () => ({
      key: limiters.keyLimiter?.rejections() ?? 0,
      'wrong-keys': limiters.failedAuthLimiter?.rejections() ?? 0,
    }),
  })
  const coalesce = createCoalescer<string[]>()
  const health = {
    draining: false,
    pendingMigrations: () => coalesce('migrations', () => pendingMigrations(readinessPool)),
  }
  const app = createApp({
    ...options,
    ...limiters,
    animals: createAnimals(database.prisma, database.pool),
    keys,
    loadShedder,
    health,
    metrics,
    trusted,
    tracer,
    now,
    recordUse: ({ keyId }) => usage.recordUse(keyId, now()),
    recordDeprecatedCall({ keyId, keyPrefix }) {
      usage.recordDeprecatedCall(keyId, now())
      metrics.recordDeprecatedCall(keyPrefix)
    },
  })
  const stopJobs = startJobs(log, [
    { everyMs: USAGE_FLUSH_MS, run: usage.flush },
    { everyMs: 3_600_000, run: () => pruneIdempotencyKeys(database.prisma) },
    { everyMs: 300_000, run: async () => rateLimitPool && deleteExpiredWindows(rateLimitPool) },
  ])
  const servers: HttpServer[] = []
  let stopping: Promise<void> | undefined

  function listen(handler: Express, port: number, host: string): Promise<number> {
    const server = createHttpServer(handler, timeouts, observeRejections(log, metrics))
    servers.push(server)
    return server.listen(port, host)
  }

  async function stop(drainDelayMs: number, drainTimeoutMs: number): Promise<void> {
    health.draining = true
    await Promise.all(servers.map((server) => server.close(drainDelayMs, drainTimeoutMs)))
    stopJobs()
    loadShedder.stop()
    await usage.flush().catch((err: unknown) => log.warn({ err }, 'failed to flush key usage'))
    await Promise.all([database.close(), rateLimitPool?.end(), readinessPool.end()])
  }

  return {
    database,
    keys,
    async start({ port, host }) {
      if (metricsPort !== undefined) await listen(createMetricsApp({ metrics, log, timeouts }), metricsPort, host)
      return listen(app, port, host)
    },
    stop: (drainDelayMs, drainTimeoutMs) => (stopping ??= stop(drainDelayMs, drainTimeoutMs)),
  }
}

/** The pools, each for what must not wait for the others. */
function createPools({ databaseUrl: url, databasePoolSize, rateLimits, timeouts, log, tracer }: ServiceOptions) {
  const onIdleError = (err: Error) => log.warn({ err }, 'connection lost')
  // Short timeouts: a slow rate-limit store never delays requests.
  const rateLimitTimeouts = { ...timeouts, checkoutMs: 500, queryMs: 500 }
  return {
    database: createDatabase({ url, size: databasePoolSize, timeouts, onIdleError, tracer }),
    rateLimitPool: rateLimits.shared
      ? createPool({ url, size: 2, timeouts: rateLimitTimeouts, onIdleError, tracer })
      : undefined,
    // A saturated pool does not make the instance unready.
    readinessPool: createPool({ url, size: 1, timeouts, onIdleError }),
  }
}

/** The rate limiters; undefined where the configuration sets no limit. */
function createLimiters({ rateLimits, log }: ServiceOptions, store: Pool | undefined) {
  const { points, wrongKeys, windowSeconds } = rateLimits
  const onStoreError = (err: unknown) => log.warn({ err }, 'rate-limit store unavailable, limiting per process')
  return {
    keyLimiter: points ? createRateLimiter({ name: 'key', points, windowSeconds, store, onStoreError }) : undefined,
    failedAuthLimiter: wrongKeys
      ? createRateLimiter({ name: 'wrong-keys', points: wrongKeys, windowSeconds })
      : undefined,
  }
}

/** Runs background jobs at intervals. A job that fails is logged and runs again. @returns stops them */
function startJobs(log: Logger, jobs: { everyMs: number; run: () => Promise<unknown> }[]): () => void {
  const onError = (err: unknown) => log.warn({ err }, 'background job failed')
  const timers = jobs.map(({ everyMs, run }) => setInterval(() => void run().catch(onError), everyMs).unref())
  return () => timers.forEach((timer) => clearInterval(timer))
}
