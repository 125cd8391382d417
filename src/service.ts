import type { Tracer } from '@opentelemetry/api'
import type { Logger } from 'pino'
import { pruneIdempotencyKeys } from './animals/idempotency.ts'
import { createFeed, wakeAfterCreate } from './animals/feed.ts'
import { createAnimals } from './animals/service.ts'
import { createApp, createMetricsApp } from './app.ts'
import { type ApiKeys, type Caller, createApiKeys } from './auth/api-keys.ts'
import { createRateLimiter, deleteExpiredWindows } from './auth/rate-limiter.ts'
import { createKeyLookup, type KeyLookup } from './auth/key-lookup.ts'
import { createKeyMonitor } from './auth/key-monitor.ts'
import { createUsage, type Usage, USAGE_FLUSH_MS } from './auth/usage.ts'
import { createCoalescer } from './coalesce.ts'
import type { Config } from './config.ts'
import type { Database, Pool } from './database/client.ts'
import { createPools, RATE_LIMIT_POOL_SIZE } from './database/pools.ts'
import { type DatabaseState, problemForClients, readDatabaseState } from './database/readiness.ts'
import { createStreams } from './graphql/subscription/streams.ts'
import type { TrustedDocuments } from './graphql/trusted-documents.ts'
import { version } from './project.ts'
import { createHttpServer } from './http/connection/server.ts'
import type { Health } from './http/health.ts'
import { createLoadShedder } from './http/load-shedding.ts'
import { createDatabaseMonitor } from './telemetry/database-monitor.ts'
import { createErrorLog, logFailures, logPools } from './telemetry/error-log.ts'
import { observeRejections } from './telemetry/access-log.ts'
import { throttledWarning } from './telemetry/logger.ts'
import { createMetrics, type Metrics, type MetricSources } from './telemetry/metrics.ts'

/** Streams end within this part of the drain timeout. */
const STREAM_DRAIN_SHARE = 0.8

export interface ServiceOptions {
  config: Config
  databaseUrl: string
  log: Logger
  /** Trusted documents; any GraphQL document is accepted by default. */
  trusted?: TrustedDocuments | undefined
  /** Aggregates the metrics of all workers of a cluster. */
  gatherMetrics?: MetricSources['gatherMetrics']
  /** Creates spans of requests, operations and statements; none without a tracer. */
  tracer?: Tracer | undefined
  /** The clock of API keys and of deprecation; tests bring their own. */
  now?: (() => Date) | undefined
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
  const { config, log, now = () => new Date() } = options
  const pools = createPools({ ...options, ...logPools(log, () => observed.monitor.check()) })
  const { database, rateLimitPool } = pools
  const keyLookup = createKeyLookup(database.pool, now)
  const usage = createUsage(database.prisma)
  const limiters = createLimiters(options, rateLimitPool)
  const loadShedder = createLoadShedder(config, database)
  const streaming = createStreaming({ ...options, ...pools, now, keyLookup, usage })
  const sources = { ...limiters, ...streaming, ...database, version, keyLookup, loadShedder }
  const metrics = createMetrics({ ...options, ...sources })
  let stopping: Promise<void> | undefined
  const observed = observeDatabase(options, pools.readinessPool, () => stopping !== undefined)
  const app = createApp({
    ...options,
    ...sources,
    animals: wakeAfterCreate(createAnimals(database.prisma, database.statements), streaming.feed),
    ...observed,
    metrics,
    now,
    ...createRecorders(usage, metrics, now),
  })
  const stopJobs = startJobs(log, usage, database, rateLimitPool)
  const onRejected = observeRejections(log, metrics)
  const server = createHttpServer(app, config, onRejected)
  const metricsServer = createHttpServer(createMetricsApp({ ...observed, metrics, config }), config, onRejected)

  async function stop(drainDelayMs: number, drainTimeoutMs: number): Promise<void> {
    streaming.streams.drain(drainDelayMs + drainTimeoutMs * STREAM_DRAIN_SHARE)
    await Promise.all([server, metricsServer].map((one) => one.close(drainDelayMs, drainTimeoutMs)))
    loadShedder.stop()
    observed.monitor.stop()
    await Promise.all([stopJobs(), streaming.feed.stop()]).then(pools.close)
  }

  return {
    database,
    keys: createApiKeys(database, now),
    async start({ port, host }) {
      observed.monitor.check()
      await connectRateLimitPool(rateLimitPool)
      if (config.METRICS_PORT !== undefined) await metricsServer.listen(config.METRICS_PORT, host)
      return server.listen(port, host)
    },
    stop: (drainDelayMs, drainTimeoutMs) => (stopping ??= stop(drainDelayMs, drainTimeoutMs)),
  }
}

/** Connects to the rate-limit store before the first burst of requests, whose checkouts would time out meanwhile. */
async function connectRateLimitPool(pool: Pool | undefined): Promise<void> {
  await Promise.allSettled(Array.from({ length: RATE_LIMIT_POOL_SIZE }, () => pool?.query('SELECT 1')))
}

function createRecorders(usage: Usage, metrics: Metrics, now: () => Date) {
  return {
    recordUse: ({ keyId }: Caller) => usage.recordUse(keyId, now()),
    recordDeprecatedCall({ keyId, keyPrefix }: Caller): void {
      usage.recordDeprecatedCall(keyId, now())
      metrics.recordDeprecatedCall(keyPrefix)
    },
  }
}

interface StreamingOptions extends Pick<ServiceOptions, 'log' | 'config'> {
  feedPool: Pool
  keyLookup: KeyLookup
  usage: Usage
  now(): Date
}

/** What subscriptions need beside the parts of other operations. */
function createStreaming({ log, config, feedPool, keyLookup, usage, now }: StreamingOptions) {
  const onReadError = logFailures(log, 'failed to read new animals')
  const recordUse = ({ keyId }: Caller) => usage.recordUse(keyId, now())
  const onVerifyError = logFailures(log, 'failed to verify the keys of streams')
  return {
    feed: createFeed(feedPool, { maxWaitMs: config.HANDLER_TIMEOUT_MS, onError: onReadError }),
    streams: createStreams(config),
    keyMonitor: createKeyMonitor({ keyLookup, recordUse, now, onError: onVerifyError }),
  }
}

/** The rate limiters; undefined where the configuration sets no limit. */
function createLimiters({ config, log }: ServiceOptions, store: Pool | undefined) {
  const { RATE_LIMIT_POINTS: points, RATE_LIMIT_WRONG_KEYS: wrongKeys, RATE_LIMIT_WINDOW_S: windowSeconds } = config
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
function observeDatabase(options: ServiceOptions, readinessPool: Pool, isDraining: () => boolean) {
  const coalesce = createCoalescer<DatabaseState>()
  const readState = () => coalesce('state', () => readDatabaseState(readinessPool))
  const health: Health = {
    isDraining,
    databaseProblem: async () => problemForClients(await readState()),
  }
  const monitor = createDatabaseMonitor(options, readState)
  return { health, monitor, logError: createErrorLog(options.log, monitor.check) }
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
