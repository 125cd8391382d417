import { PrismaPg } from '@prisma/adapter-pg'
import { PrismaClient } from './generated/client.ts'
import { createPool, type Pool, type PoolOptions } from './pool.ts'
import type { Replicas } from './replicas.ts'
import { createStatements, type Statements } from './statements.ts'

export interface Database {
  prisma: PrismaClient
  pool: Pool
  statements: Statements
  /** One connection, which is not of `pool`, for statements that take long: one is executed at a time. */
  countPool: Pool
  counts: Statements
  /** Requests that wait for a connection of `pool` or for the next batch; no counts, which delay no other statement. */
  waitingCount(): number
  /** Closes every connection; the object cannot be used again. */
  close(): Promise<void>
}

/** Creates a pool, and Prisma's client that uses it. */
export function createDatabase(options: PoolOptions, replicas?: Replicas): Database {
  const { timeouts } = options
  const pool = createPool(options)
  const prisma = new PrismaClient({ adapter: new PrismaPg(pool), errorFormat: 'minimal' })
  const statements = createStatements(pool, replicas)
  // A count waits for at most one other, which takes no longer than that.
  const countPool = createPool({
    ...options,
    size: 1,
    timeouts: { ...timeouts, DATABASE_CHECKOUT_TIMEOUT_MS: timeouts.DATABASE_QUERY_TIMEOUT_MS },
  })
  return {
    prisma,
    pool,
    statements,
    countPool,
    counts: createStatements(countPool),
    waitingCount: () => pool.waitingCount + statements.waitingCount(),
    async close() {
      await prisma.$disconnect()
      await Promise.all([pool.end(), countPool.end()])
    },
  }
}
