import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import { pruneIdempotencyKeys } from './store/idempotency.ts'
import { createApp, type ServedResource } from './app.ts'
import { createCoalescer } from './lib/coalesce.ts'
import { clientScopes, createApiKeys } from './auth/api-keys.ts'
import { createVerifyToken } from './auth/access-tokens.ts'
import { createRateLimiters } from './auth/rate-limit.ts'
import { createKeyLookup, createVerifyKey } from './auth/key-lookup.ts'
import { createUsage, USAGE_FLUSH_MS } from './auth/usage.ts'
import type { Config } from './config/config.ts'
import { type Limits, limitsOf } from './config/limits.ts'
import { reasonOf } from './database/failures.ts'
import type { Pool } from './database/pool.ts'
import { createDatabase } from './database/database.ts'
import { type DatabaseState, readDatabaseState } from './database/readiness.ts'
import { createResourceServices, type ResourceServices } from './resource-services.ts'
import { createStreams, VERIFY_MS } from './graphql/subscription/streams.ts'
import type { TrustedDocuments } from './graphql/context.ts'
import { createHttpServer } from './http/connection/server.ts'
import { KeptBytes } from './http/kept-bytes.ts'
import { createLoadShedder } from './http/load-shedding.ts'
import { METHODS } from './http/allowed-methods.ts'
import { Turns } from './http/turns.ts'
import { createLogObserver } from './telemetry/log-observer.ts'
import { createMetrics, type Metrics } from './telemetry/metrics.ts'
import type { Observe } from './telemetry/observation.ts'
import type { RecordSpan } from './telemetry/tracing.ts'

/** Interval of a check, in milliseconds, that logs outages and wrong settings even where nothing probes `/readyz`. */
const DATABASE_CHECK_MS = 60_000

/** Time between two reads for `/readyz`, in milliseconds. Anyone may call it: a flood took 60 % of a core of PostgreSQL. */
const PROBE_INTERVAL_MS = 100

/** A request waits for open transactions for this part of its deadline, which leaves time to report that they are open. */
const SETTLE_SHARE = 0.6

/** Streams end within this part of the drain timeout. */
const STREAM_DRAIN_SHARE = 0.8

export interface ServiceOptions {
  resources: ServedResource[]
  config: Config
  databaseUrl: string
  log: Logger
  /** Any GraphQL document is accepted by default. */
  trusted?: TrustedDocuments | undefined
  recordSpan?: RecordSpan | undefined
  /** Plugins of Yoga or envelop, which run after the service's own. */
  plugins?: object[] | undefined
  /** The clock of API keys, access tokens and deprecation. Tests have one of their own. */
  now?: (() => Date) | undefined
  limits?: Partial<Limits> | undefined
}

export type Service = ReturnType<typeof createService>

/** Builds the service on a database, for the program and for tests. It serves nothing before `start`. */
export function createService(options: ServiceOptions) {
  const { config, resources: served, now = () => new Date() } = options
  const limits = limitsOf(config, options.limits)
  const metrics = createMetrics([...METHODS, 'OPTIONS'])
  const observe = createObserve(options, metrics)
  const { DATABASE_POOL_SIZE: size, DATABASE_REPLICA_URLS: replicaUrls } = config
  const database = createDatabase({ url: options.databaseUrl, size, timeouts: limits, replicaUrls, observe })
  let stopping: Promise<void> | undefined

  const keyLookup = createKeyLookup(database.statements, now, createVerifyToken(config, observe, now))
  const { recordUse, flush: flushUsage } = createUsage(database.prisma, now)
  const loadShedder = createLoadShedder(limits, database)
  const keptBytes = new KeptBytes()
  const turns = new Turns(keptBytes, limits)
  const resources = served.map(({ resource }) => resource)
  const maxWaitMs = config.HANDLER_TIMEOUT_MS * SETTLE_SHARE
  const services = createResourceServices(resources, database, { maxWaitMs, observe })
  const health = createHealth(database.backgroundPool, services, () => stopping !== undefined, observe)
  const hasDatabaseProblem = () => health.databaseProblem().then(Boolean, () => true)
  const verifyKey = createVerifyKey(database.backgroundStatements, limits.verifyTimeoutMs, now, hasDatabaseProblem)
  const streams = createStreams({ ...config, ...limits }, (keyHash, caller) => {
    recordUse(caller)
    return verifyKey(keyHash, caller)
  })
  const limiters = createRateLimiters(config, limits)
  // The app uses these, and metrics read them.
  const sources = { config, database, keyLookup, loadShedder, turns, streams, services, ...limiters }
  metrics.addSources(sources)
  const app = createApp({ ...options, ...sources, limits, keptBytes, health, metrics, observe, now, recordUse })
  const server = createHttpServer(app, { ...config, ...limits }, keptBytes, observe)
  const checkDatabase = () => health.databaseProblem().catch(() => {}) // the log has the reason
  const stopJobs = startJobs(observe, [
    [DATABASE_CHECK_MS, checkDatabase],
    [USAGE_FLUSH_MS, flushUsage],
    [VERIFY_MS, async () => streams.verifyAll()],
    [60_000, () => pruneIdempotencyKeys(database.prisma)],
  ])

  async function stop(drainDelayMs: number, drainTimeoutMs: number): Promise<void> {
    streams.drain(drainDelayMs + drainTimeoutMs * STREAM_DRAIN_SHARE)
    await server.close(drainDelayMs, drainTimeoutMs)
    loadShedder.stop()
    stopJobs()
    const flushed = flushUsage().catch((error: unknown) => observe({ type: 'job-failed', error }))
    await Promise.all([flushed, services.stop()])
    await database.close()
  }

  return {
    database,
    keys: createApiKeys(database, clientScopes(resources), now),
    /** Listens for requests. @returns the port, which the system chooses for port 0. Rejects with Node's error */
    async start({ port, host }: { port: number; host: string }): Promise<number> {
      void checkDatabase()
      return server.listen(port, host)
    },
    /** Shuts down gracefully. `HttpServer.close` describes the two times. */
    stop: (drainDelayMs: number, drainTimeoutMs: number) => (stopping ??= stop(drainDelayMs, drainTimeoutMs)),
  }
}

function createObserve(options: ServiceOptions, metrics: Metrics): Observe {
  const log = createLogObserver(options.log, options.databaseUrl, options.recordSpan)
  return (event) => {
    metrics.observe(event)
    log(event)
  }
}

/** Reads the state for `/readyz`, and logs each change of it. If there is no problem, the sequences of ids are checked. */
function createHealth(pool: Pool, services: ResourceServices, isDraining: () => boolean, observe: Observe) {
  const coalesce = createCoalescer<string | undefined>() // callers that wait share a read
  const record = (found: DatabaseState) => isDraining() || observe({ type: 'database-checked', ...found })
  let pause: Promise<unknown> = Promise.resolve()

  async function read(): Promise<string | undefined> {
    const state = await readDatabaseState(pool, services.tables).catch((error: unknown) => {
      record({ problem: reasonOf(error) })
      throw error
    })
    record(state)
    if (!state.problem) services.checkFeeds()
    return state.problem
  }
  /** @returns why the database cannot serve requests; undefined if it can. Rejects when it is not available */
  const databaseProblem = () => coalesce('state', read)
  async function readinessProblem(): Promise<string | undefined> {
    await pause // all that wait share a read
    pause = sleep(PROBE_INTERVAL_MS, undefined, { ref: false })
    return isDraining() ? 'The service is shutting down.' : databaseProblem()
  }
  return { databaseProblem, readinessProblem }
}

/** Runs each job at its interval, even after the job has failed. @returns a function that stops all jobs */
function startJobs(observe: Observe, jobs: [everyMs: number, run: () => Promise<unknown>][]): () => void {
  const onError = (error: unknown) => observe({ type: 'job-failed', error })
  const timers = jobs.map(([everyMs, run]) => setInterval(() => void run().catch(onError), everyMs).unref())
  return () => timers.forEach((timer) => clearInterval(timer))
}
