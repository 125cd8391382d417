import type { Tracer } from '@opentelemetry/api'
import { PrismaPg } from '@prisma/adapter-pg'
import pg from 'pg'
import { PrismaClient } from './generated/client.ts'
import { watchQueue } from './queue.ts'
import { tracedPg } from './traces.ts'

/** How long is waited, in milliseconds: for a connection, for a lock, for a statement to end, and for its answer. */
export interface DatabaseTimeouts {
  checkoutMs: number
  lockMs: number
  statementMs: number
  queryMs: number
}

export interface Database {
  prisma: PrismaClient
  pool: pg.Pool
  /** How long a request would wait for a connection from now on, as far as can be told, in milliseconds. */
  expectedWaitMs(): number
  /** Ends every connection; the object cannot be used again. */
  close(): Promise<void>
}

/**
 * A pool of connections with timeouts. Connects when first used, never here.
 * @param onIdleError told when an idle connection breaks; pg has removed it already
 * @param tracer makes a span for each statement; none when there is no tracer
 */
export function createPool(
  url: string,
  size: number,
  timeouts: DatabaseTimeouts,
  onIdleError: (error: Error) => void,
  tracer?: Tracer,
): pg.Pool {
  const { Pool, Client } = tracer ? tracedPg(tracer) : pg
  const pool = new Pool({
    Client,
    connectionString: url,
    max: size,
    connectionTimeoutMillis: timeouts.checkoutMs,
    lock_timeout: timeouts.lockMs,
    statement_timeout: timeouts.statementMs,
    query_timeout: timeouts.queryMs,
    keepAlive: true,
    application_name: 'pet-store',
  })
  return pool.on('error', onIdleError)
}

/** Prisma on a pool. */
export function createDatabase(...settings: Parameters<typeof createPool>): Database {
  const pool = createPool(...settings)
  const prisma = new PrismaClient({ adapter: new PrismaPg(pool), errorFormat: 'minimal' })
  return {
    prisma,
    pool,
    expectedWaitMs: watchQueue(pool),
    async close() {
      await prisma.$disconnect()
      await pool.end()
    },
  }
}
