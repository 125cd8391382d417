// The inputs of the model in capacity.ts, measured and assumed. Change them to your own, and run `npm run docs`.
import { Environment } from '../../src/config/environment.ts'

/** What one request costs. */
export interface Cost {
  /** CPU time of a process of the service, in milliseconds. */
  serviceMs: number
  /** CPU time of PostgreSQL, in milliseconds. */
  postgresMs: number
  /** Headers and body of the response. */
  responseBytes: number
}

export type Action = 'list' | 'get' | 'create'

/**
 * CPU times: those of the run in docs/benchmarks.md in which ids and cursors are drawn over all rows (Zipf 0.99).
 * Creations are without an Idempotency-Key. The responses of GraphQL were not weighed; they are taken for as large.
 */
export const COSTS: Record<'REST' | 'GraphQL', Record<Action, Cost>> = {
  REST: {
    list: { serviceMs: 0.33, postgresMs: 0.093, responseBytes: 1_805 },
    get: { serviceMs: 0.188, postgresMs: 0.026, responseBytes: 549 },
    create: { serviceMs: 0.2, postgresMs: 0.031, responseBytes: 446 },
  },
  GraphQL: {
    list: { serviceMs: 0.492, postgresMs: 0.079, responseBytes: 1_805 },
    get: { serviceMs: 0.453, postgresMs: 0.045, responseBytes: 549 },
    create: { serviceMs: 0.345, postgresMs: 0.036, responseBytes: 446 },
  },
}

/** CPU times with read replicas (docs/replicas.md), as parts of what a read costs PostgreSQL without. */
export const REPLICAS = { count: 3, list: { primary: 0.22, replica: 1.2 }, get: { primary: 0.41, replica: 1.4 } }

/** Bytes of a row with its indexes, in PostgreSQL 18 with a million rows of 50 categories, inserted 50 in a transaction. */
export const ANIMAL = { bytes: 225, walBytes: 430 }

/** … and what a key adds to a creation, whose table has 300,000 keys: CPU times from another load of 50 connections. */
export const IDEMPOTENCY_KEY = { bytes: 222, walBytes: 534, serviceMs: 0.03, postgresMs: 0.07, responseBytes: 0 }

/** The most that a process used in that run of the bench, and in the one on Node 26. */
export const PROCESS_MB = 187

/** Connections of a process by default: its pool, one for counts, and three in the background. */
export const PROCESS_CONNECTIONS = Environment.shape.DATABASE_POOL_SIZE.parse(undefined) + 1 + 3

/** Assumed: parts of all requests. Every creation has an Idempotency-Key. */
export const MIX: Record<Action, number> = { list: 0.6, get: 0.3, create: 0.1 }

/** Assumed: the part of the requests that come by GraphQL. */
export const GRAPHQL_PART = 0.5

/** Assumed: how busy a core may be. The rest is for peaks, and for instances that restart. */
export const UTILISATION = 0.6
