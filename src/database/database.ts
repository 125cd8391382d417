import { PrismaPg } from '@prisma/adapter-pg'
import { PrismaClient } from './generated/client.ts'
import { type ConnectionSource, createPool, type PoolOptions } from './pool.ts'
import { createReplicas, type ReplicaObservation } from './replicas.ts'
import { createStatements } from './statements.ts'

/** Two connections for new items and `liveCursor`, and one for readiness and the keys of streams. */
const BACKGROUND_POOL_SIZE = 3

interface DatabaseOptions extends PoolOptions {
  replicaUrls?: string[] | undefined
  observe?(event: ReplicaObservation): void
}

/**
 * Creates a pool for each use that must not wait for another: for requests (and jobs that run once a minute), for counts,
 * for streams and the readiness probe, for each replica, and for the primary's WAL position. A pool connects when it is
 * first used.
 */
export function createDatabase({ replicaUrls = [], observe, ...options }: DatabaseOptions) {
  const pool = createPool(options)
  const backgroundPool = createPool({ ...options, size: BACKGROUND_POOL_SIZE })
  /** The pool has one connection, because counts may take long. They wait for each other, so a checkout may take longer. */
  const countTimeouts = { ...options.timeouts, checkoutTimeoutMs: options.timeouts.countCheckoutTimeoutMs }
  const countPool = createPool({ ...options, size: 1, timeouts: countTimeouts })
  const servers = replicaUrls.map((url) => ({ pool: createPool({ ...options, url }), host: new URL(url).host }))
  const positionPool = createPool({ ...options, size: 1 })
  const replicas = createReplicas(servers, createStatements(positionPool).readRows, observe)
  const prisma = new PrismaClient({ adapter: new PrismaPg(pool), errorFormat: 'minimal' })
  const statements = createStatements(pool, replicas)
  return {
    prisma,
    pool,
    statements,
    countPool,
    readCount: createStatements(countPool).readRows,
    backgroundPool,
    backgroundStatements: createStatements(backgroundPool),
    /** The loops of all feeds use one connection in turns, and wait for no pages of streams that are far behind. */
    feedLoopStatements: createStatements(oneAtATime(backgroundPool)),
    feedPageStatements: createStatements(oneAtATime(backgroundPool)),
    /** How many requests wait for a connection of `pool` or the next batch. Counts, which delay no others, are left out. */
    waitingCount: () => pool.waitingCount + statements.waitingCount(),
    async close(): Promise<void> {
      await prisma.$disconnect()
      const pools = [pool, countPool, backgroundPool, positionPool, ...servers.map((one) => one.pool)]
      await Promise.all(pools.map((one) => one.end()))
    },
  }
}

/** Uses one connection of a pool at a time, so that the other connections are left to users of the pool itself. */
function oneAtATime(pool: ConnectionSource): ConnectionSource {
  let last: Promise<unknown> = Promise.resolve()
  return {
    withConnection: (work) => {
      const result = last.then(() => pool.withConnection(work))
      last = result.catch(() => {}) // its caller has the error
      return result
    },
  }
}
