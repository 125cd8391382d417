import { PrismaPg } from '@prisma/adapter-pg'
import pg from 'pg'
import { PrismaClient } from './generated/client.ts'

/**
 * How long each layer waits, in milliseconds. Each gives up before the one around it, so that the answer comes from
 * the layer that knows why: lock < statement < query; and no request waits longer than checkout + query.
 */
export const timeouts = {
  checkoutMs: 1_000,
  lockMs: 1_000,
  statementMs: 2_000,
  queryMs: 3_000,
}

export interface Database {
  prisma: PrismaClient
  pool: pg.Pool
  /** Ends every connection; the object cannot be used again. */
  close(): Promise<void>
}

/**
 * Prisma on a pg pool. Connects when first used, never here.
 * @param onIdleError told when an idle connection breaks; pg has removed it already
 */
export function createDatabase(url: string, poolSize: number, onIdleError: (error: Error) => void): Database {
  const pool = new pg.Pool({
    connectionString: url,
    max: poolSize,
    connectionTimeoutMillis: timeouts.checkoutMs,
    lock_timeout: timeouts.lockMs,
    statement_timeout: timeouts.statementMs,
    query_timeout: timeouts.queryMs,
    keepAlive: true,
    application_name: 'pet-store',
  })
  pool.on('error', onIdleError)
  const prisma = new PrismaClient({ adapter: new PrismaPg(pool), errorFormat: 'minimal' })
  return {
    prisma,
    pool,
    async close() {
      await prisma.$disconnect()
      await pool.end()
    },
  }
}
