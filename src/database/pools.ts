import { PrismaPg } from '@prisma/adapter-pg'
import type { Config } from '../config.ts'
import type { Limits } from '../limits.ts'
import { PrismaClient } from './generated/client.ts'
import { createLongReads } from './long-reads.ts'
import { createPool, type Pool, type PoolOptions } from './pool.ts'
import { createReplicas, type Replicas } from './replicas.ts'
import { createStatements } from './statements.ts'

/** One connection for new animals, and one for subscriptions that read older ones. */
const FEED_POOL_SIZE = 2

/** Why a replica is excluded for a while, and its host; without a host, all of them. */
export interface ExcludedReplica {
  reason: string
  host: string | undefined
}

interface PoolsOptions {
  config: Config
  limits: Limits
  databaseUrl: string
  observe(event: { type: 'replica-excluded'; replica: ExcludedReplica }): void
}

/**
 * One pool for requests; one each for counts, the feed of new animals and the readiness probe, which must not wait for
 * it; one for each replica and for the primary's WAL position. They connect when they are first used.
 */
export function createPools(options: PoolsOptions) {
  const { config, limits, databaseUrl } = options
  const common = { url: databaseUrl, timeouts: limits }
  const replication = createReplication(options, common)
  const database = createDatabase({ ...common, size: config.DATABASE_POOL_SIZE }, replication.replicas)
  const feedPool = createPool({ ...common, size: FEED_POOL_SIZE })
  // A saturated pool does not make the instance unready, and delays no verification of streams' keys.
  const readinessPool = createPool({ ...common, size: 1 })
  const others = [feedPool, readinessPool, ...replication.pools]
  return {
    database,
    feedPool,
    readinessPool,
    async close(): Promise<void> {
      await Promise.all([database.close(), ...others.map((pool) => pool.end())])
    },
  }
}

/** A pool for each replica, and one connection to the primary for its position. */
function createReplication({ config, observe }: PoolsOptions, common: Omit<PoolOptions, 'size'>) {
  const { DATABASE_REPLICA_URLS: urls = [], DATABASE_POOL_SIZE: size } = config
  const hosts = new Map(urls.map((url) => [createPool({ ...common, url, size }), new URL(url).host]))
  const pools = [...hosts.keys()]
  const positionPool = createPool({ ...common, size: 1 })
  const onExcluded = (reason: string, pool?: Pool) =>
    observe({ type: 'replica-excluded', replica: { reason, host: pool && hosts.get(pool) } })
  return { replicas: createReplicas({ pools, positionPool, onExcluded }), pools: [...pools, positionPool] }
}

export function createDatabase(options: PoolOptions, replicas?: Replicas) {
  const { timeouts } = options
  const pool = createPool(options)
  const prisma = new PrismaClient({ adapter: new PrismaPg(pool), errorFormat: 'minimal' })
  const statements = createStatements(pool, replicas)
  /** One connection for counts, which may take long. A count waits for it at least as long as any other may take. */
  const countPool = createPool({
    ...options,
    size: 1,
    timeouts: { ...timeouts, checkoutTimeoutMs: timeouts.queryTimeoutMs },
  })
  return {
    prisma,
    pool,
    statements,
    countPool,
    runCount: createLongReads(countPool),
    /** Requests that wait for a connection of `pool` or for the next batch; no counts, which delay no other statement. */
    waitingCount: () => pool.waitingCount + statements.waitingCount(),
    async close(): Promise<void> {
      await prisma.$disconnect()
      await Promise.all([pool.end(), countPool.end()])
    },
  }
}
