import type { Server } from 'node:http'
import express, { type Express } from 'express'
import type { Logger } from 'pino'
import { type Animals, createAnimals } from './animals/service.ts'
import { beginRequest, requireKey } from './context.ts'
import { createDatabase, type Database } from './database/client.ts'
import { pendingMigrations } from './database/migrate.ts'
import { ApiError } from './errors.ts'
import { graphiql } from './graphql/graphiql.ts'
import { graphqlErrorHandler, graphqlRouter } from './graphql/server.ts'
import { accessLog } from './http/access-log.ts'
import { errorHandler } from './http/errors.ts'
import { type Health, healthRouter } from './http/health.ts'
import { close, createHttpServer, listen } from './http/server.ts'
import { requireSaneTarget } from './http/target.ts'
import { createKeys, type Keys } from './keys/service.ts'
import { deprecateGetPet, petsRouter } from './rest/pets.ts'

export interface Service {
  database: Database
  keys: Keys
  /** @returns the port that it serves on. Rejects when it cannot listen there. */
  start(options: { port: number; host: string; devKey?: string | undefined }): Promise<number>
  /** Drains: see `close` in http/server.ts for the two times, in milliseconds. */
  stop(drainDelayMs: number, drainTimeoutMs: number): Promise<void>
}

/** The whole service on a database, started the same way by the program and by the tests. Nothing runs before `start`. */
export function createService(options: { databaseUrl: string; poolSize: number; log: Logger }): Service {
  const { log } = options
  const database = createDatabase(options.databaseUrl, options.poolSize, (err) => log.warn({ err }, 'connection lost'))
  const animals = createAnimals(database.prisma)
  const keys = createKeys(database.prisma)
  const health = { draining: false, pendingMigrations: () => pendingMigrations(database.pool) }
  let http: Server | undefined
  return {
    database,
    keys,
    start({ port, host, devKey }) {
      http = createHttpServer(createApp({ animals, keys, health, log, devKey }))
      return listen(http, port, host)
    },
    async stop(drainDelayMs, drainTimeoutMs) {
      health.draining = true
      if (http) await close(http, drainDelayMs, drainTimeoutMs)
      await database.close()
    },
  }
}

interface Parts {
  animals: Animals
  keys: Keys
  health: Health
  log: Logger
  /** Filled into GraphiQL for browsers on this machine. */
  devKey?: string | undefined
}

/** Every part of a request's way, in order. */
function createApp({ animals, keys, health, log, devKey }: Parts): Express {
  const app = express()
  app.disable('x-powered-by').disable('etag').enable('strict routing').enable('case sensitive routing')

  app.use(beginRequest)
  app.use(accessLog(log))
  app.use(deprecateGetPet)
  app.use(requireSaneTarget)

  app.use(healthRouter(health))
  app.get('/graphql', graphiql(devKey))
  app.use('/graphql', requireKey(keys), graphqlRouter(animals, log), graphqlErrorHandler(log))
  app.use('/v1', requireKey(keys), petsRouter(animals))

  app.use(() => {
    throw new ApiError('NOT_FOUND', 'There is nothing at this address.')
  })
  app.use(errorHandler(log, (error) => error.body))
  return app
}
