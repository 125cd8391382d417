import { parse as parseQuery } from 'node:querystring'
import type { Tracer } from '@opentelemetry/api'
import express, { type Express } from 'express'
import type { Logger } from 'pino'
import { pruneIdempotencyKeys } from './animals/idempotency.ts'
import { createJoin } from './animals/joined.ts'
import { type Animals, createAnimals } from './animals/service.ts'
import { type Config, version } from './config.ts'
import { beginRequest, requireBudget, requireKey } from './context.ts'
import { createDatabase, createPool, type Database } from './database/client.ts'
import { pendingMigrations } from './database/migrate.ts'
import { ApiError } from './errors.ts'
import { noTrustedDocuments, type TrustedDocuments } from './graphql/documents.ts'
import { graphiql } from './graphql/graphiql.ts'
import { graphqlErrorHandler } from './graphql/answers.ts'
import { graphqlRouter } from './graphql/server.ts'
import { observeRejectedRequests, observeRequests } from './http/access-log.ts'
import { errorHandler } from './http/errors.ts'
import { type Health, healthRouter } from './http/health.ts'
import { createMetrics, type Metrics } from './http/metrics.ts'
import { createOverload, type Overload } from './http/overload.ts'
import { createHttpServer, type HttpServer } from './http/server.ts'
import { requireSaneHead } from './http/target.ts'
import { traceRequests } from './http/traces.ts'
import { type Budget, createBudget } from './keys/budget.ts'
import { type Caller, createKeys, type Keys } from './keys/service.ts'
import { createUsage, type Usage, USAGE_FLUSH_MS } from './keys/usage.ts'
import { deprecateGetPet } from './rest/deprecation.ts'
import { docsRouter } from './rest/docs.ts'
import { apiServers } from './rest/openapi.ts'
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
  keys: Keys
  /** @returns the port that it serves on. Rejects when it cannot listen there. */
  start(options: { port: number; host: string; devKey?: string | undefined }): Promise<number>
  /** Drains: HttpServer.close says what the two times are, in milliseconds. */
  stop(drainDelayMs: number, drainTimeoutMs: number): Promise<void>
}

/** The whole service on a database, started the same way by the program and by the tests. Nothing is served before `start`. */
export function createService(options: ServiceOptions): Service {
  const { databaseUrl, databasePoolSize, budgets, timeouts, log, metricsPort, tracer, now = () => new Date() } = options
  const onIdleError = (err: Error) => log.warn({ err }, 'connection lost')
  const database = createDatabase(databaseUrl, databasePoolSize, timeouts, onIdleError, tracer)
  // Budgets do not queue with the requests that they limit, and are not worth waiting for.
  const impatient = { ...timeouts, checkoutMs: 500, queryMs: 500 }
  const store = budgets.shared ? createPool(databaseUrl, 2, impatient, onIdleError, tracer) : undefined
  // Readiness has a connection of its own: where all others are in use the service is busy, not away.
  const probe = createPool(databaseUrl, 1, timeouts, onIdleError)
  const onStoreLost = (err: unknown) => log.warn({ err }, 'budgets are not shared: their store is lost')
  const budgetOf = (name: string, points: number, shared?: typeof store) =>
    points ? createBudget({ ...budgets, name, points, store: shared, onStoreLost }) : undefined

  const animals = createAnimals(database.prisma, database.pool)
  const keys = createKeys(database, now)
  const usage = createUsage(database.prisma)
  const budget = budgetOf('key', budgets.points, store)
  const wrongKeys = budgetOf('wrong-keys', budgets.wrongKeys)
  const { pool, expectedWaitMs } = database
  const overload = createOverload(options.shedding, { length: () => pool.waitingCount, expectedWaitMs })
  const metrics = createMetrics({
    version,
    pool: () => database.pool,
    max: databasePoolSize,
    keyLookups: keys.lookups,
    shed: overload.counts,
    gather: options.gatherMetrics,
    limited: () => ({ key: budget?.refused ?? 0, 'wrong-keys': wrongKeys?.refused ?? 0 }),
  })
  const join = createJoin<string[]>()
  const health = { draining: false, pendingMigrations: () => join('', () => pendingMigrations(probe)) }
  const parts = { ...options, animals, keys, usage, budget, wrongKeys, overload, metrics, health, now }
  const chores: [everyMs: number, chore: () => Promise<unknown>][] = [
    [USAGE_FLUSH_MS, usage.flush],
    [3_600_000, () => pruneIdempotencyKeys(database.prisma)],
  ]
  const servers: HttpServer[] = []
  let timers: NodeJS.Timeout[] = []
  let stopping: Promise<void> | undefined

  function listen(app: Express, port: number, host: string): Promise<number> {
    const server = createHttpServer(app, timeouts, observeRejectedRequests(log, metrics))
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
    async start({ port, host, devKey }) {
      if (metricsPort !== undefined) await listen(createMetricsApp(parts), metricsPort, host)
      const onError = (err: unknown) => log.warn({ err }, 'chore failed')
      timers = chores.map(([everyMs, chore]) => setInterval(() => void chore().catch(onError), everyMs).unref())
      return listen(createApp({ ...parts, devKey }), port, host)
    },
    stop: (drainDelayMs, drainTimeoutMs) => (stopping ??= stop(drainDelayMs, drainTimeoutMs)),
  }
}

interface Parts extends ServiceOptions {
  animals: Animals
  keys: Keys
  usage: Usage
  budget: Budget | undefined
  wrongKeys: Budget | undefined
  overload: Overload
  metrics: Metrics
  health: Health
  /** Filled into GraphiQL for browsers on this machine. */
  devKey?: string | undefined
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
  app.use(deprecateGetPet)
  app.use(requireSaneHead)

  // Those that are asked most come first: a request takes time for every part that it passes by.
  app.use('/v1', admit, petsRouter({ animals, now, noteDeprecatedCall }))
  app.get('/graphql', graphiql(parts.devKey))
  app.use('/graphql', admit, graphqlRouter({ animals, log, trusted: trusted ?? noTrustedDocuments, budget, tracer }))
  app.use('/graphql', graphqlErrorHandler(log))

  app.use(healthRouter(health))
  app.use(docsRouter(version, apiServers(parts.environments)))
  if (parts.metricsPort === undefined) app.use(metrics.router(auth))

  app.use(() => {
    throw new ApiError('NOT_FOUND', 'There is nothing at this address.')
  })
  app.use(errorHandler(log, (error) => error.body))
  return app
}

/** What is served on the port for metrics. */
function createMetricsApp({ metrics, log, timeouts }: Parts): Express {
  const app = express().disable('x-powered-by').disable('etag')
  app.use(beginRequest(timeouts.handlerMs), requireSaneHead, metrics.router())
  app.use(() => {
    throw new ApiError('NOT_FOUND', 'There is nothing at this address.')
  })
  return app.use(errorHandler(log, (error) => error.body))
}
