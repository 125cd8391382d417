import { LRUCache } from 'lru-cache'
import type { Pool } from 'pg'
import type { Logger } from 'pino'
import type { Config } from '../config.ts'
import { createRunStatement, type RunStatement } from '../database/statements.ts'
import { throttledWarning } from '../telemetry/logger.ts'

/** What a client has left of its quota. */
export interface RateLimitState {
  /** Whether the quota was enough. */
  allowed: boolean
  remaining: number
  /** Milliseconds until the window ends and the quota is replenished. */
  resetMs: number
}

interface RateLimiterOptions {
  /** Names the limiter in the RateLimit headers and in the store. */
  name: string
  /** The quota: points that a client may consume in a window. */
  points: number
  windowSeconds: number
  /** The database that instances share; without one each process counts for itself, in memory. */
  store?: Pool | undefined
  /** Called when the store fails. */
  onStoreError?: (error: unknown) => void
}

export interface RateLimiter extends Pick<RateLimiterOptions, 'name' | 'points' | 'windowSeconds'> {
  /** Consumes points of a client's quota, or one point if there are not enough. @param cost in points, at least 1 */
  consume(client: string, cost: number): Promise<RateLimitState>
  /** What a client has left as far as this process knows; consumes nothing. */
  peek(client: string): RateLimitState
  /** Requests that got 429 since the start; counted by those who throw it. */
  readonly counts: { rejected: number }
}

/** A fixed window: it begins with a client's first request. */
interface Window {
  consumed: number
  /** By the monotonic clock of this process (`performance.now()`). */
  endsAtMs: number
}

/** Bounds the memory that a limiter takes: an attacker may have any number of addresses. */
export const MAX_CLIENTS = 50_000
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
 * With a store, all instances count together; while it fails, each counts for itself from what it last knew.
 */
export function createRateLimiter(options: RateLimiterOptions): RateLimiter {
  const { name, points, windowSeconds, store, onStoreError } = options
  const windowMs = windowSeconds * 1_000
  /** What this process knows. With a store: the state after the client's last request here. */
  const windows = createWindows()
  const run = store && createRunStatement(store)
  const useStore = createCircuitBreaker(onStoreError)

  async function consume(client: string, cost: number): Promise<RateLimitState> {
    const window = await consumeIfLeft(client, cost)
    if (window) return toState(window, window.consumed <= points)
    return toState((await consumeIfLeft(client, 1)) as Window, false) // one point is always counted
  }

  /** @returns undefined for a cost above one point that exceeds what is left */
  async function consumeIfLeft(client: string, cost: number): Promise<Window | undefined> {
    // A client whose quota is exhausted costs the store nothing until its window ends.
    const exhausted = (windows.open(client)?.consumed ?? 0) >= points
    const rows = run && !exhausted ? await consumeInStore(run, client, cost) : undefined
    if (!rows) return consumeInMemory(client, cost)
    const [row] = rows
    if (!row) return undefined
    const window = { consumed: row.points, endsAtMs: performance.now() + row.reset_ms }
    windows.set(client, window)
    return window
  }

  function consumeInMemory(client: string, cost: number): Window | undefined {
    const window = windows.open(client) ?? { consumed: 0, endsAtMs: performance.now() + windowMs }
    if (cost > 1 && window.consumed + cost > points) return undefined
    window.consumed += cost
    windows.set(client, window)
    return window
  }

  function consumeInStore(run: RunStatement, client: string, cost: number) {
    const values = [`${name}:${client}`, cost, windowMs, points]
    return useStore(() => run<{ points: number; reset_ms: number }>(CONSUME, values))
  }

  function peek(client: string): RateLimitState {
    const window = windows.open(client)
    return window ? toState(window, window.consumed < points) : { allowed: true, remaining: points, resetMs: 0 }
  }

  function toState({ consumed, endsAtMs }: Window, allowed: boolean): RateLimitState {
    return { allowed, remaining: Math.max(points - consumed, 0), resetMs: Math.max(endsAtMs - performance.now(), 0) }
  }

  return { name, points, windowSeconds, consume, peek, counts: { rejected: 0 } }
}

function createWindows() {
  const windows = new LRUCache<string, Window>({
    maxSize: MAX_CLIENTS, // `max` would allocate arrays of that length at once
    sizeCalculation: () => 1,
  })
  return {
    /** The client's window; undefined when it is over. */
    open(client: string): Window | undefined {
      const window = windows.get(client)
      return window && window.endsAtMs > performance.now() ? window : undefined
    },
    set: (client: string, window: Window) => void windows.set(client, window),
  }
}

/**
 * Circuit breaker: runs no operation for STORE_PAUSE_MS after a failure, so that a store that hangs does not delay
 * every request.
 * @returns runs an operation; its promise is undefined when the operation failed or was not run
 */
function createCircuitBreaker(onError: RateLimiterOptions['onStoreError']) {
  let failedAtMs = -Infinity
  return async <T>(operation: () => Promise<T>): Promise<T | undefined> => {
    if (performance.now() - failedAtMs < STORE_PAUSE_MS) return undefined
    try {
      return await operation()
    } catch (error) {
      failedAtMs = performance.now()
      onError?.(error)
      return undefined
    }
  }
}

/**
 * The rate limiters of API keys and of failed authentications; undefined where the configuration sets no limit.
 * @param store where the instances count API keys together, if they do
 */
export function createRateLimiters(config: Config, log: Logger, store: Pool | undefined) {
  const windowSeconds = config.RATE_LIMIT_WINDOW_S
  const warn = throttledWarning(log, 'rate-limit store unavailable, limiting per process', 60_000)
  const create = (options: Pick<RateLimiterOptions, 'name' | 'points' | 'store'>) =>
    options.points ? createRateLimiter({ ...options, windowSeconds, onStoreError: (err) => warn({ err }) }) : undefined
  return {
    keyLimiter: create({ name: 'key', points: config.RATE_LIMIT_POINTS, store }),
    failedAuthLimiter: create({ name: 'wrong-keys', points: config.RATE_LIMIT_WRONG_KEYS }),
  }
}

/** Deletes the windows that are over from the store. */
export async function deleteExpiredWindows(store: Pool): Promise<void> {
  await store.query(`DELETE FROM "public"."rate_limit" WHERE expire < ${NOW_MS}`)
}
