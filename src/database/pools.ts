import type { Config } from '../config.ts'
import { createDatabase, createPool, type Database, type Pool, type PoolOptions } from './client.ts'
import { createReplicas, type Replicas } from './replicas.ts'

export const RATE_LIMIT_POOL_SIZE = 2

/** One connection for new animals, and one for subscriptions that read older ones. */
const FEED_POOL_SIZE = 2

interface PoolsOptions extends Pick<PoolOptions, 'onIdleError' | 'tracer'> {
  config: Config
  databaseUrl: string
  /** Receives why a replica is left out for a while, and its host; without a host, all of them. */
  onReplicaLeftOut?: (details: { reason: string; host: string | undefined }) => void
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
  const { config, databaseUrl, onIdleError, tracer } = poolsOptions
  const common = { url: databaseUrl, timeouts: config, tracer, ...(onIdleError && { onIdleError }) }
  // Short timeouts: a slow rate-limit store never delays requests.
  const rateLimitMs = config.DATABASE_CHECKOUT_TIMEOUT_MS / 2
  const rateLimitTimeouts = {
    ...config,
    DATABASE_CHECKOUT_TIMEOUT_MS: rateLimitMs,
    DATABASE_QUERY_TIMEOUT_MS: rateLimitMs,
  }
  const replication = createReplication(poolsOptions, common)
  const database = createDatabase({ ...common, size: config.DATABASE_POOL_SIZE }, replication.replicas)
  const rateLimitPool =
    config.RATE_LIMIT_STORE === 'database'
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
  { config, onReplicaLeftOut }: PoolsOptions,
  common: Omit<PoolOptions, 'size'>,
): { replicas: Replicas | undefined; close(): Promise<void> } {
  const { DATABASE_REPLICA_URLS: urls = [], DATABASE_POOL_SIZE: size } = config
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
