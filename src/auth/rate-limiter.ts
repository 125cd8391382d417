import { LRUCache } from 'lru-cache'
import type { Logger } from 'pino'
import type { Config } from '../config.ts'
import { createRunStatement, type Pool } from '../database/statements.ts'
import { createThrottledLog } from '../telemetry/logger.ts'

export interface RateLimitState {
  allowed: boolean
  remaining: number
  /** Time until the window ends and the quota is replenished. */
  resetMs: number
}

interface RateLimiterOptions {
  name: string
  points: number
  windowSeconds: number
  /** The database that instances share. */
  store?: Pool | undefined
  onStoreError?: (error: unknown) => void
}

export type RateLimiter = ReturnType<typeof createRateLimiter>

/** A fixed window: it begins with a client's first request. */
interface Window {
  consumed: number
  /** A time of the monotonic clock of this process. */
  endsAtMs: number
}

/** Bounds the memory that a limiter takes: an attacker may have any number of addresses. */
export const MAX_CLIENTS = 50_000

/** A store that failed is not used for so long: one that hangs must not delay every request. */
const STORE_PAUSE_MS = 1_000

/** The clock of the database, which all instances share: the clocks of their machines differ and may be set. */
const NOW_MS = '(extract(epoch FROM clock_timestamp()) * 1000)::bigint'

const isOpen = (nowMs: string) => `rate_window.expire > ${nowMs} AND rate_window.expire <= ${nowMs} + $3`

/**
 * Counts in the client's window, or begins a new one when it is over. A window that ends later than a new one would is
 * from before the database's clock was set back, and counts as over. PostgreSQL reads the clock for the
 * update after it has locked the row, so the end is never compared with a time from before another request's update.
 * Returns no row for a cost above one point that exceeds what is left.
 */
const CONSUME = `
  INSERT INTO "public"."rate_limit" AS rate_window (key, points, expire)
  VALUES ($1, $2, ${NOW_MS} + $3)
  ON CONFLICT (key) DO UPDATE SET (points, expire) = (
    SELECT CASE WHEN open THEN rate_window.points ELSE 0 END + excluded.points,
           CASE WHEN open THEN rate_window.expire ELSE now_ms + $3 END
    FROM (SELECT ${NOW_MS} AS now_ms) AS clock,
         LATERAL (SELECT ${isOpen('now_ms')} AS open) AS state
  )
  WHERE excluded.points = 1 OR excluded.points + CASE WHEN ${isOpen(NOW_MS)} THEN rate_window.points ELSE 0 END <= $4
  RETURNING points, (expire - ${NOW_MS})::integer AS reset_ms`

/**
 * Limits how many points each client may consume in a fixed window, which begins with its first request.
 * With a store, all instances count together. While it fails, or without one, each process counts in memory.
 */
export function createRateLimiter({ name, points, windowSeconds, store, onStoreError }: RateLimiterOptions) {
  const windowMs = windowSeconds * 1_000
  const run = store && createRunStatement(store)
  let storeFailedAtMs = -Infinity
  /** What this process knows. With a store: the state after the client's last request here. */
  const windows = new LRUCache<string, Window>({
    maxSize: MAX_CLIENTS, // `max` would allocate arrays of that length at once
    sizeCalculation: () => 1,
  })

  function openWindow(client: string): Window | undefined {
    const window = windows.get(client)
    return window && window.endsAtMs > performance.now() ? window : undefined
  }

  /** @returns undefined, and consumes nothing, for a cost above one point that exceeds what is left */
  async function consumeIfLeft(client: string, cost: number): Promise<Window | undefined> {
    // A client whose quota is exhausted costs the store nothing until its window ends.
    const exhausted = (openWindow(client)?.consumed ?? 0) >= points
    if (run && !exhausted && performance.now() - storeFailedAtMs >= STORE_PAUSE_MS) {
      try {
        const values = [`${name}:${client}`, cost, windowMs, points]
        const [row] = await run<{ points: number; reset_ms: number }>(CONSUME, values)
        const window = row && { consumed: row.points, endsAtMs: performance.now() + row.reset_ms }
        if (window) windows.set(client, window)
        return window
      } catch (error) {
        storeFailedAtMs = performance.now()
        onStoreError?.(error)
      }
    }
    const window = openWindow(client) ?? { consumed: 0, endsAtMs: performance.now() + windowMs }
    if (cost > 1 && window.consumed + cost > points) return undefined
    window.consumed += cost
    windows.set(client, window)
    return window
  }

  return {
    name,
    points,
    windowSeconds,
    /** Requests that got 429 since the start; counted by those who throw it. */
    counts: { rejected: 0 },
    /** Consumes points of a client's quota, or one point if there are not enough. @param cost in points, at least 1 */
    async consume(client: string, cost: number): Promise<RateLimitState> {
      const window = await consumeIfLeft(client, cost)
      if (window) return toState(window, points, window.consumed <= points)
      return toState((await consumeIfLeft(client, 1)) as Window, points, false) // one point is always counted
    },
    /** What a client has left as far as this process knows; consumes nothing. */
    peek(client: string): RateLimitState {
      const window = openWindow(client) ?? { consumed: 0, endsAtMs: 0 }
      return toState(window, points, window.consumed < points)
    },
  }
}

function toState({ consumed, endsAtMs }: Window, points: number, allowed: boolean): RateLimitState {
  return { allowed, remaining: Math.max(points - consumed, 0), resetMs: Math.max(endsAtMs - performance.now(), 0) }
}

/** The rate limiters of API keys and of failed authentications; undefined where the configuration sets no limit. */
export function createRateLimiters(config: Config, log: Logger, store: Pool | undefined) {
  const windowSeconds = config.RATE_LIMIT_WINDOW_S
  const warn = createThrottledLog(log, 60_000)
  const onStoreError = (err: unknown) => warn('rate-limit store unavailable, limiting per process', { err })
  const create = (options: Pick<RateLimiterOptions, 'name' | 'points' | 'store'>) =>
    options.points ? createRateLimiter({ ...options, windowSeconds, onStoreError }) : undefined
  return {
    keyLimiter: create({ name: 'key', points: config.RATE_LIMIT_POINTS, store }),
    failedAuthLimiter: create({ name: 'wrong-keys', points: config.RATE_LIMIT_WRONG_KEYS }),
  }
}

export async function deleteExpiredWindows(store: Pool): Promise<void> {
  await store.query(`DELETE FROM "public"."rate_limit" WHERE expire < ${NOW_MS}`)
}
