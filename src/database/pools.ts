import { createDatabase, type Database } from './client.ts'
import { createPool, type Pool, type PoolOptions } from './pool.ts'
import { createReplicas, type Replicas } from './replicas.ts'

export const RATE_LIMIT_POOL_SIZE = 2

/** One connection for new animals, and one for subscriptions that read older ones. */
const FEED_POOL_SIZE = 2

interface PoolsOptions extends Pick<PoolOptions, 'timeouts' | 'onIdleError' | 'tracer'> {
  databaseUrl: string
  databaseReplicaUrls?: string[] | undefined
  databasePoolSize: number
  /** Receives why a replica is left out for a while, and its host; without a host, all of them. */
  onReplicaLeftOut?: (details: { reason: string; host: string | undefined }) => void
  rateLimits: { shared: boolean }
}

interface Pools {
  database: Database
  rateLimitPool: Pool | undefined
  feedPool: Pool
  readinessPool: Pool
  close(): Promise<void>
}

/**
 * One pool for requests; one each for the rate-limit store, the feed of new animals and the readiness probe, which must
 * not wait for it; one for each replica. They connect when they are first used.
 */
export function createPools(poolsOptions: PoolsOptions): Pools {
  const { databaseUrl, databasePoolSize, rateLimits, ...options } = poolsOptions
  const { timeouts, onIdleError, tracer } = options
  const common = { url: databaseUrl, timeouts, tracer, ...(onIdleError && { onIdleError }) }
  // Short timeouts: a slow rate-limit store never delays requests.
  const rateLimitMs = timeouts.checkoutMs / 2
  const rateLimitTimeouts = { ...timeouts, checkoutMs: rateLimitMs, queryMs: rateLimitMs }
  const replication = createReplication(poolsOptions, common)
  const database = createDatabase({ ...common, size: databasePoolSize }, replication.replicas)
  const rateLimitPool = rateLimits.shared
    ? createPool({ ...common, size: RATE_LIMIT_POOL_SIZE, timeouts: rateLimitTimeouts })
    : undefined
  const feedPool = createPool({ ...common, size: FEED_POOL_SIZE })
  // A saturated pool does not make the instance unready.
  const readinessPool = createPool({ ...common, size: 1, tracer: undefined })
  return {
    database,
    rateLimitPool,
    feedPool,
    readinessPool,
    async close() {
      await Promise.all([
        database.close(),
        rateLimitPool?.end(),
        feedPool.end(),
        readinessPool.end(),
        replication.close(),
      ])
    },
  }
}

/** A pool for each replica, and one connection to the primary for its position; nothing without replicas. */
function createReplication(
  { databaseReplicaUrls: urls = [], databasePoolSize: size, onReplicaLeftOut }: PoolsOptions,
  common: Omit<PoolOptions, 'size'>,
): { replicas: Replicas | undefined; close(): Promise<void> } {
  if (urls.length === 0) return { replicas: undefined, close: async () => {} }
  const hosts = new Map(urls.map((url) => [createPool({ ...common, url, size }), new URL(url).host]))
  const pools = [...hosts.keys()]
  const positionPool = createPool({ ...common, size: 1, tracer: undefined })
  return {
    replicas: createReplicas({
      pools,
      positionPool,
      onLeftOut: (reason, pool) => onReplicaLeftOut?.({ reason, host: pool && hosts.get(pool) }),
    }),
    async close() {
      await Promise.all([...pools, positionPool].map((pool) => pool.end()))
    },
  }
}
