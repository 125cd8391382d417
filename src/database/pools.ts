import { createDatabase, createPool, type Database, type Pool, type PoolOptions } from './client.ts'

export const RATE_LIMIT_POOL_SIZE = 2

/** One connection for new animals, and one for subscriptions that read older ones. */
const FEED_POOL_SIZE = 2

interface PoolsOptions extends Pick<PoolOptions, 'timeouts' | 'onIdleError' | 'tracer'> {
  databaseUrl: string
  databasePoolSize: number
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
 * not wait for it. They connect when they are first used.
 */
export function createPools({ databaseUrl, databasePoolSize, rateLimits, ...options }: PoolsOptions): Pools {
  const { timeouts, onIdleError, tracer } = options
  const common = { url: databaseUrl, timeouts, tracer, ...(onIdleError && { onIdleError }) }
  // Short timeouts: a slow rate-limit store never delays requests.
  const rateLimitMs = timeouts.checkoutMs / 2
  const rateLimitTimeouts = { ...timeouts, checkoutMs: rateLimitMs, queryMs: rateLimitMs }
  const database = createDatabase({ ...common, size: databasePoolSize })
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
      await Promise.all([database.close(), rateLimitPool?.end(), feedPool.end(), readinessPool.end()])
    },
  }
}
