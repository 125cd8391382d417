import { parse as parseQuery } from 'node:querystring'
import express, { type Express } from 'express'
import type { Logger } from 'pino'
import { pruneIdempotencyKeys } from './animals/idempotency.ts'
import { type Animals, createAnimals } from './animals/service.ts'
import { beginRequest, requireKey } from './context.ts'
import { version } from './config.ts'
import { createDatabase, type Database } from './database/client.ts'
import { pendingMigrations } from './database/migrate.ts'
import { ApiError } from './errors.ts'
import { graphiql } from './graphql/graphiql.ts'
import { noTrustedDocuments, type TrustedDocuments } from './graphql/documents.ts'
import { graphqlErrorHandler, graphqlRouter } from './graphql/server.ts'
import { accessLog } from './http/access-log.ts'
import { errorHandler } from './http/errors.ts'
import { type Health, healthRouter } from './http/health.ts'
import { createHttpServer, type HttpServer } from './http/server.ts'
import { requireSaneTarget } from './http/target.ts'
import { type Caller, createKeys, type Keys } from './keys/service.ts'
import { createUsage, USAGE_FLUSH_MS } from './keys/usage.ts'
import { deprecateGetPet } from './rest/deprecation.ts'
import { docsRouter } from './rest/docs.ts'
import type { ApiServer } from './rest/openapi.ts'
import { petsRouter } from './rest/pets.ts'

export interface Service {
  database: Database
  keys: Keys
  /** @returns the port that it serves on. Rejects when it cannot listen there. */
  start(options: { port: number; host: string; devKey?: string | undefined }): Promise<number>
  /** Drains: HttpServer.close says what the two times are, in milliseconds. */
  stop(drainDelayMs: number, drainTimeoutMs: number): Promise<void>
}

/** Base addresses of the two environments, where they are known. */
interface Environments {
  production?: string | undefined
  staging?: string | undefined
}

export interface ServiceOptions {
  databaseUrl: string
  poolSize: number
  log: Logger
  /** Where the service runs, for the API reference. */
  environments?: Environments
  /** GraphQL operations known by their hash; none when nothing is said. */
  trusted?: TrustedDocuments
  /** The clock; tests bring their own. */
  now?: () => Date
}

/** The whole service on a database, started the same way by the program and by the tests. Nothing runs before `start`. */
export function createService(options: ServiceOptions): Service {
  const { log, environments = {}, trusted = noTrustedDocuments, now = () => new Date() } = options
  const database = createDatabase(options.databaseUrl, options.poolSize, (err) => log.warn({ err }, 'connection lost'))
  const animals = createAnimals(database.prisma)
  const keys = createKeys(database.prisma)
  const usage = createUsage(database.prisma)
  const chores: [everyMs: number, chore: () => Promise<unknown>][] = [
    [USAGE_FLUSH_MS, usage.flush],
    [3_600_000, () => pruneIdempotencyKeys(database.prisma, now())],
  ]
  const health = { draining: false, pendingMigrations: () => pendingMigrations(database.pool) }
  let http: HttpServer | undefined
  let timers: NodeJS.Timeout[] = []
  let stopping: Promise<void> | undefined

  async function stop(drainDelayMs: number, drainTimeoutMs: number): Promise<void> {
    health.draining = true
    await http?.close(drainDelayMs, drainTimeoutMs)
    timers.forEach((timer) => clearInterval(timer))
    await usage.flush().catch((err: unknown) => log.warn({ err }, 'usage of the deprecated operation was not written'))
    await database.close()
  }

  return {
    database,
    keys,
    start({ port, host, devKey }) {
      const noteDeprecatedCall = (caller: Caller) => usage.note(caller.keyId, now())
      http = createHttpServer(
        createApp({ animals, keys, health, log, devKey, environments, trusted, now, noteDeprecatedCall }),
      )
      const attempt = (chore: () => Promise<unknown>) =>
        chore().catch((err: unknown) => log.warn({ err }, 'chore failed'))
      timers = chores.map(([everyMs, chore]) => setInterval(() => void attempt(chore), everyMs).unref())
      return http.listen(port, host)
    },
    stop: (drainDelayMs, drainTimeoutMs) => (stopping ??= stop(drainDelayMs, drainTimeoutMs)),
  }
}

interface Parts {
  animals: Animals
  keys: Keys
  health: Health
  log: Logger
  /** Filled into GraphiQL for browsers on this machine. */
  devKey?: string | undefined
  environments: Environments
  trusted: TrustedDocuments
  now(): Date
  noteDeprecatedCall(caller: Caller): void
}

/** Every part of a request's way, in order. */
function createApp({
  animals,
  keys,
  health,
  log,
  devKey,
  environments,
  trusted,
  now,
  noteDeprecatedCall,
}: Parts): Express {
  const app = express()
  app.disable('x-powered-by').disable('etag').enable('strict routing').enable('case sensitive routing')
  // Without Node's limit of 1,000 parameters, behind which a wrong one could hide; headers end at 16 KiB anyway.
  app.set('query parser', (query: string) => parseQuery(query, '&', '=', { maxKeys: 0 }))

  app.use(beginRequest)
  app.use(accessLog(log))
  app.use(deprecateGetPet)
  app.use(requireSaneTarget)

  app.use(healthRouter(health))
  app.use(docsRouter(version, apiServers(environments)))
  app.get('/graphql', graphiql(devKey))
  app.use('/graphql', requireKey(keys), graphqlRouter({ animals, log, trusted }), graphqlErrorHandler(log))
  app.use('/v1', requireKey(keys), petsRouter({ animals, now, noteDeprecatedCall }))

  app.use(() => {
    throw new ApiError('NOT_FOUND', 'There is nothing at this address.')
  })
  app.use(errorHandler(log, (error) => error.body))
  return app
}

/** This server first, so that "try it" works, then the environments. */
function apiServers({ production, staging }: Environments): ApiServer[] {
  return [
    { url: '/v1', description: 'This server, be it production, staging or local' },
    ...(production ? [{ url: production, description: 'Production' }] : []),
    ...(staging ? [{ url: staging, description: 'Staging' }] : []),
  ]
}
