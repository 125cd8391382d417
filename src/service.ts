import type { Logger } from 'pino'
import { pruneIdempotencyKeys } from './animals/idempotency.ts'
import { createAnimals } from './animals/service.ts'
import { createApp } from './app.ts'
import { type Caller, createApiKeys } from './auth/api-keys.ts'
import { createVerifyToken } from './auth/access-tokens.ts'
import { createRateLimiters } from './auth/rate-limiter.ts'
import { createKeyLookup, createVerifyKey } from './auth/key-lookup.ts'
import { createUsage, USAGE_FLUSH_MS } from './auth/usage.ts'
import { createCoalescer } from './coalesce.ts'
import type { Config } from './config.ts'
import { type Limits, limitsOf } from './limits.ts'
import { createPools } from './database/pools.ts'
import { type DatabaseState, readDatabaseState } from './database/readiness.ts'
import { createStatements } from './database/statements.ts'
import { createFeed } from './feed/feed.ts'
import { sequenceProblemOf } from './feed/sequence.ts'
import { createStreams, VERIFY_MS } from './graphql/subscription/streams.ts'
import { TRUSTED_DOCUMENTS_OFF, type TrustedDocuments } from './graphql/trusted-documents.ts'
import { createHttpServer } from './http/connection/server.ts'
import { KeptBytes } from './http/kept-bytes.ts'
import { createLoadShedder } from './http/load-shedding.ts'
import { Turns } from './http/turns.ts'
import { createDatabaseMonitor } from './telemetry/database-monitor.ts'
import { createErrorLog, logFailures } from './telemetry/error-log.ts'
import { observeRejections } from './telemetry/access-log.ts'
import { createThrottledLog } from './telemetry/logger.ts'
import { createMetrics } from './telemetry/metrics.ts'
import type { RecordSpan } from './telemetry/tracing.ts'

/** A host without a probe of `/readyz` learns of an outage, and of wrong settings, from the log. */
const DATABASE_CHECK_MS = 60_000

/** A request waits for open transactions for this part of its deadline, and says so when they have not ended. */
const SETTLE_SHARE = 0.6

/** Streams end within this part of the drain timeout. */
const STREAM_DRAIN_SHARE = 0.8

export interface ServiceOptions {
  config: Config
  databaseUrl: string
  log: Logger
  /** Any GraphQL document is accepted by default. */
  trusted?: TrustedDocuments | undefined
  recordSpan?: RecordSpan | undefined
  /** The clock of API keys, access tokens and deprecation. Tests have one of their own. */
  now?: (() => Date) | undefined
  /** Limits that tests change. */
  limits?: Partial<Limits> | undefined
}

export type Service = ReturnType<typeof createService>

/** Builds the service on a database, for the program and for tests. It serves nothing before `start`. */
// oxlint-disable-next-line max-lines-per-function -- creates the parts, one after the other
export function createService(options: ServiceOptions) {
  const { config, databaseUrl, log, trusted = TRUSTED_DOCUMENTS_OFF } = options
  const { recordSpan, now = () => new Date() } = options
  const limits = limitsOf(config, options.limits)
  let stopping: Promise<void> | undefined

  const warnOnceAMinute = createThrottledLog(log, 60_000)
  const pools = createPools({
    config,
    limits,
    databaseUrl,
    onReplicaExcluded: (details) =>
      warnOnceAMinute('replica excluded for up to a second, reading from the primary', details, details.reason),
  })
  const { database } = pools
  const coalesce = createCoalescer<DatabaseState>()
  const readState = () => coalesce('state', () => readDatabaseState(pools.readinessPool))
  const isStopping = () => stopping !== undefined
  const readProblem = createDatabaseMonitor({ log, databaseUrl, isStopping, readState })
  const databaseProblem = async () => {
    const problem = await readProblem()
    if (!problem) feed.checkSequence()
    return problem
  }
  const checkDatabase = () => databaseProblem().catch(() => {}) // the log has the reason
  const logError = createErrorLog(log)

  const keyLookup = createKeyLookup({
    statements: database.statements,
    now,
    verifyToken: createVerifyToken(config, log, now),
  })
  const usage = createUsage(database.prisma)
  const recordUse = ({ keyId }: Caller) => void (keyId && usage.recordUse(keyId, now()))
  const { keyLimiter, failedAuthLimiter } = createRateLimiters(config, limits)
  const loadShedder = createLoadShedder(limits, database)
  const keptBytes = new KeptBytes()
  const turns = new Turns(keptBytes, limits)

  const onReadError = logFailures(log, 'failed to read new animals')
  const feed = createFeed(createStatements(pools.feedPool), {
    maxWaitMs: config.HANDLER_TIMEOUT_MS * SETTLE_SHARE,
    onError: onReadError,
    onSequence(state) {
      const seconds = Math.round(feed.reader.lagMs() / 1_000)
      if (seconds >= 10) warnOnceAMinute('new animals wait for an open transaction', { seconds })
      const reason = sequenceProblemOf(state)
      if (reason) warnOnceAMinute('the sequence of ids must be repaired', { reason }, reason)
    },
  })
  const animals = createAnimals(database.statements, database.runCount, feed.wake)
  const isDatabaseAway = () =>
    readState()
      .then(({ problem }) => problem !== undefined)
      .catch(() => true)
  const verifyKey = createVerifyKey(createStatements(pools.readinessPool), now, isDatabaseAway)
  const streams = createStreams({ ...config, ...limits }, (key, caller) => {
    recordUse(caller)
    return verifyKey(key, caller)
  })

  const metrics = createMetrics({
    config,
    database,
    keyLookup,
    loadShedder,
    turns,
    streams,
    feed,
    keyLimiter,
    failedAuthLimiter,
  })
  const app = createApp({
    config,
    limits,
    animals,
    feed,
    streams,
    keyLookup,
    keyLimiter,
    failedAuthLimiter,
    loadShedder,
    keptBytes,
    turns,
    health: { isDraining: isStopping, databaseProblem },
    metrics,
    log,
    logError,
    trusted,
    recordSpan,
    recordUse,
    recordDeprecatedCall: ({ keyPrefix }) => metrics.recordDeprecatedCall(keyPrefix),
    now,
  })
  const server = createHttpServer(app, { ...config, ...limits }, keptBytes, observeRejections(log, metrics))
  const stopJobs = startJobs(log, [
    { everyMs: DATABASE_CHECK_MS, run: checkDatabase },
    { everyMs: USAGE_FLUSH_MS, run: () => usage.flush() },
    { everyMs: VERIFY_MS, run: async () => streams.endWithoutKey() },
    { everyMs: 60_000, run: () => pruneIdempotencyKeys(database.prisma) },
  ])

  async function stop(drainDelayMs: number, drainTimeoutMs: number): Promise<void> {
    streams.drain(drainDelayMs + drainTimeoutMs * STREAM_DRAIN_SHARE)
    await server.close(drainDelayMs, drainTimeoutMs)
    loadShedder.stop()
    stopJobs()
    const flushed = usage.flush().catch((err: unknown) => log.warn({ err }, 'failed to flush key usage'))
    await Promise.all([flushed, feed.stop()])
    await pools.close()
  }

  return {
    database,
    keys: createApiKeys(database, now),
    /** Listens for requests. @returns the port, which the system chooses for port 0. Rejects with Node's error */
    async start({ port, host }: { port: number; host: string }): Promise<number> {
      void checkDatabase()
      return server.listen(port, host)
    },
    /** Shuts down gracefully, in the two times of `HttpServer.close`. */
    stop: (drainDelayMs: number, drainTimeoutMs: number) => (stopping ??= stop(drainDelayMs, drainTimeoutMs)),
  }
}

/** Runs each job in its interval; one that fails is logged and runs again. @returns stops all jobs */
function startJobs(log: Logger, jobs: { everyMs: number; run(): Promise<unknown> }[]): () => void {
  const onError = (err: unknown) => log.warn({ err }, 'background job failed')
  const timers = jobs.map(({ everyMs, run }) => setInterval(() => void run().catch(onError), everyMs).unref())
  return () => timers.forEach((timer) => clearInterval(timer))
}
