import { parse as parseQuery } from 'node:querystring'
import type { Tracer } from '@opentelemetry/api'
import express, { type Express } from 'express'
import type { Logger } from 'pino'
import { pruneIdempotencyKeys } from './animals/idempotency.ts'
import { createCoalescer } from './coalesce.ts'
import { type Animals, createAnimals } from './animals/service.ts'
import { type Config, version } from './config.ts'
import { beginRequest, requireBudget, requireKey, scopeMiddleware } from './auth/authenticate.ts'
import { createDatabase, createPool, type Database } from './database/client.ts'
import { pendingMigrations } from './database/migrate.ts'
import { ApiError } from './errors.ts'
import { TRUSTED_DOCUMENTS_OFF, type TrustedDocuments } from './graphql/trusted-documents.ts'
import { graphiql } from './graphql/graphiql/route.ts'
import { graphqlErrorHandler } from './graphql/errors.ts'
import { graphqlRouter } from './graphql/route.ts'
import { observeRejections, observeRequests } from './telemetry/access-log.ts'
import { errorHandler } from './http/error-handler.ts'
import { type Health, healthRouter } from './http/health.ts'
import { createMetrics, type Metrics } from './telemetry/metrics.ts'
import { createLoadShedder, type LoadShedder } from './http/load-shedding.ts'
import { createHttpServer, type HttpServer } from './http/connection/server.ts'
import { validateRequestHead } from './http/host.ts'
import { traceRequests } from './http/tracing.ts'
import { createRateLimiter, deleteExpiredWindows, type RateLimiter } from './auth/rate-limiter.ts'
import { type Caller, createApiKeys, type ApiKeys } from './auth/api-keys.ts'
import { createUsage, type Usage, USAGE_FLUSH_MS } from './auth/usage.ts'
import { deprecateGetPet } from './rest/deprecation.ts'
import { docsRouter } from './rest/docs/route.ts'
import { apiServers } from './rest/openapi/document.ts'
import { petsRouter } from './rest/pets.ts'

/** What the service needs to know of the configuration. */
type Settings = Pick<
  Config,
  'databasePoolSize' | 'environments' | 'budgets' | 'trustedProxies' | 'shedding' | 'metricsPort' | 'timeouts'
>

export interface ServiceOptions extends Settings {
  databaseUrl: string
  log: Logger
  /** GraphQL operations known by their hash; none when nothing is said. */
  trusted?: TrustedDocuments
  /** Gets the metrics of all processes, where there are several. */
  gatherMetrics?: Parameters<typeof createMetrics>[0]['gather']
  /** Makes spans of requests, operations and statements; none are made when nothing is said. */
  tracer?: Tracer | undefined
  /** The clock; tests bring their own. */
  now?: () => Date
}

export interface Service {
  database: Database
  keys: ApiKeys
  /** @returns the port that it serves on. Rejects when it cannot listen there. */
  start(options: { port: number; host: string }): Promise<number>
  /** Drains: HttpServer.close says what the two times are, in milliseconds. */
  stop(drainDelayMs: number, drainTimeoutMs: number): Promise<void>
}

/** The whole service on a database, started the same way by the program and by the tests. Nothing is served before `start`. */
export function createService(options: ServiceOptions): Service {
  const { databaseUrl, databasePoolSize, budgets, timeouts, log, metricsPort, tracer, now = () => new Date() } = options
  const onIdleError = (err: Error) => log.warn({ err }, 'connection lost')
  const database = createDatabase({ url: databaseUrl, size: databasePoolSize, timeouts, onIdleError, tracer })
  // The rate-limit store has its own small pool and short timeouts, so that a slow store never delays requests.
  const impatient = { ...timeouts, checkoutMs: 500, queryMs: 500 }
  const store = budgets.shared
    ? createPool({ url: databaseUrl, size: 2, timeouts: impatient, onIdleError, tracer })
    : undefined
  // Readiness has a connection of its own: where all others are in use the service is busy, not away.
  const probe = createPool({ url: databaseUrl, size: 1, timeouts, onIdleError })
  const onStoreError = (err: unknown) => log.warn({ err }, 'rate-limit store unavailable, limiting per process')
  const createLimiter = (name: string, points: number, shared?: typeof store) =>
    points ? createRateLimiter({ ...budgets, name, points, store: shared, onStoreError }) : undefined

  const animals = createAnimals(database.prisma, database.pool)
  const keys = createApiKeys(database, now)
  const usage = createUsage(database.prisma)
  const budget = createLimiter('key', budgets.points, store)
  const wrongKeys = createLimiter('wrong-keys', budgets.wrongKeys)
  const { pool } = database
  const queue = { length: () => pool.waitingCount, expectedWaitMs: () => pool.expectedWaitMs() }
  const overload = createLoadShedder(options.shedding, queue)
  const metrics = createMetrics({
    version,
    pool: () => database.pool,
    max: databasePoolSize,
    keyLookups: keys.lookups,
    shed: overload.counts,
    gather: options.gatherMetrics,
    limited: () => ({ key: budget?.rejected ?? 0, 'wrong-keys': wrongKeys?.rejected ?? 0 }),
  })
  const join = createCoalescer<string[]>()
  const health = { draining: false, pendingMigrations: () => join('', () => pendingMigrations(probe)) }
  const parts = { ...options, animals, keys, usage, budget, wrongKeys, overload, metrics, health, now }
  const chores: [everyMs: number, chore: () => Promise<unknown>][] = [
    [USAGE_FLUSH_MS, usage.flush],
    [3_600_000, () => pruneIdempotencyKeys(database.prisma)],
    [300_000, async () => store && deleteExpiredWindows(store)],
  ]
  const servers: HttpServer[] = []
  let timers: NodeJS.Timeout[] = []
  let stopping: Promise<void> | undefined

  function listen(app: Express, port: number, host: string): Promise<number> {
    const server = createHttpServer(app, timeouts, observeRejections(log, metrics))
    servers.push(server)
    return server.listen(port, host)
  }

  async function stop(drainDelayMs: number, drainTimeoutMs: number): Promise<void> {
    health.draining = true
    await Promise.all(servers.map((server) => server.close(drainDelayMs, drainTimeoutMs)))
    timers.forEach((timer) => clearInterval(timer))
    overload.stop()
    await usage.flush().catch((err: unknown) => log.warn({ err }, 'use of keys was not written'))
    await Promise.all([database.close(), store?.end(), probe.end()])
  }

  return {
    database,
    keys,
    async start({ port, host }) {
      if (metricsPort !== undefined) await listen(createMetricsApp(parts), metricsPort, host)
      const onError = (err: unknown) => log.warn({ err }, 'chore failed')
      timers = chores.map(([everyMs, chore]) => setInterval(() => void chore().catch(onError), everyMs).unref())
      return listen(createApp(parts), port, host)
    },
    stop: (drainDelayMs, drainTimeoutMs) => (stopping ??= stop(drainDelayMs, drainTimeoutMs)),
  }
}

interface Parts extends ServiceOptions {
  animals: Animals
  keys: ApiKeys
  usage: Usage
  budget: RateLimiter | undefined
  wrongKeys: RateLimiter | undefined
  overload: LoadShedder
  metrics: Metrics
  health: Health
  now(): Date
}

/** The addresses as they are told in the log and in metrics. */
const templates = [
  ...['/v1/pets', '/v1/pets/{petId}', '/graphql', '/docs', '/docs/{file}', '/openapi.json'],
  ...['/livez', '/readyz', '/metrics'],
]

/** Every part of a request's way, in order. */
function createApp(parts: Parts): Express {
  const { animals, keys, usage, budget, wrongKeys, overload, metrics, health, log, tracer, trusted, now } = parts
  const noteUse = ({ keyId }: Caller) => usage.note(keyId, now())
  const noteDeprecatedCall = ({ keyId, keyPrefix }: Caller) => {
    usage.noteDeprecatedCall(keyId, now())
    metrics.deprecatedCall(keyPrefix)
  }
  const auth = requireKey({ keys, wrongKeys, noteUse })
  const admit = [overload.shed, auth, requireBudget(budget)]

  const app = express()
  app.disable('x-powered-by').disable('etag').enable('strict routing').enable('case sensitive routing')
  app.set('trust proxy', parts.trustedProxies ?? false)
  // Without Node's limit of 1,000 parameters, behind which a wrong one could hide; headers end at 16 KiB anyway.
  app.set('query parser', (query: string) => parseQuery(query, '&', '=', { maxKeys: 0 }))

  app.use(beginRequest(parts.timeouts.handlerMs))
  if (tracer) app.use(traceRequests(tracer, templates))
  app.use(observeRequests(log, metrics, templates))
  app.use(deprecateGetPet(parts.environments))
  app.use(validateRequestHead)

  // Those that are asked most come first: a request takes time for every part that it passes by.
  app.use('/v1', admit, petsRouter({ ...parts, recordDeprecatedCall: noteDeprecatedCall }))
  app.get('/graphql', overload.shedForLag, graphiql())
  app.use('/graphql', admit, graphqlRouter({ animals, log, trusted: trusted ?? TRUSTED_DOCUMENTS_OFF, budget, tracer }))
  app.use('/graphql', graphqlErrorHandler(log))

  app.use(healthRouter(health))
  app.use(['/docs', '/openapi.json'], overload.shedForLag)
  app.use(docsRouter(version, apiServers(parts.environments)))
  if (parts.metricsPort === undefined) app.use(metrics.router(auth, scopeMiddleware('metrics:read')))

  app.use(() => {
    throw new ApiError('NOT_FOUND', 'There is nothing at this address.')
  })
  app.use(errorHandler(log, (error) => error.body))
  return app
}

/** What is served on the port for metrics. */
function createMetricsApp({ metrics, log, timeouts }: Parts): Express {
  const app = express().disable('x-powered-by').disable('etag')
  app.use(beginRequest(timeouts.handlerMs), validateRequestHead, metrics.router())
  app.use(() => {
    throw new ApiError('NOT_FOUND', 'There is nothing at this address.')
  })
  return app.use(errorHandler(log, (error) => error.body))
}
