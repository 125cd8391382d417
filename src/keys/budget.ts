import type { Pool } from 'pg'
import { RateLimiterMemory, RateLimiterPostgres, RateLimiterRes } from 'rate-limiter-flexible'

/** What somebody has left. */
export interface Balance {
  /** Whether what was asked for was within the budget. */
  granted: boolean
  remaining: number
  /** Milliseconds until the budget is whole again. */
  resetMs: number
}

export interface BudgetOptions {
  /** Names the budget in the RateLimit headers and in the store. */
  name: string
  points: number
  windowSeconds: number
  /** Where instances share it; each has its own in memory when nothing is said. */
  store?: Pool | undefined
  /** Told, once a minute at most, that the store fails: this instance counts alone until it is back. */
  onStoreLost?: (error: unknown) => void
}

/** A store that has failed is left alone for so long, in milliseconds: one that hangs holds nobody up meanwhile. */
const STORE_PAUSE_MS = 1_000

export type Budget = ReturnType<typeof createBudget>

/** Points that somebody may spend in a window of time, which begins with the first of them. */
export function createBudget({ name, points, windowSeconds, store, onStoreLost }: BudgetOptions) {
  const limits = { keyPrefix: name, points, duration: windowSeconds }
  const memory = new RateLimiterMemory(limits)
  const shared =
    store &&
    new RateLimiterPostgres({
      ...limits,
      storeClient: store,
      storeType: 'pool',
      tableName: 'rate_limit',
      tableCreated: true, // by our migrations
      inMemoryBlockOnConsumed: points, // who has nothing left is refused without asking
    })

  let toldAt = -Infinity
  let lostAt = -Infinity

  function noteStoreLost(error: unknown): void {
    lostAt = performance.now()
    if (lostAt - toldAt < 60_000) return
    toldAt = lostAt
    onStoreLost?.(error)
  }

  /** Spends points. A cost beyond what is left is refused, and the points are gone all the same. */
  async function spend(who: string, cost: number): Promise<Balance> {
    try {
      return toBalance(await consume(who, cost), true)
    } catch (refused) {
      if (refused instanceof RateLimiterRes) return toBalance(refused, false)
      throw refused
    }
  }

  async function consume(who: string, cost: number): Promise<RateLimiterRes> {
    if (!shared || performance.now() - lostAt < STORE_PAUSE_MS) return memory.consume(who, cost)
    try {
      return await shared.consume(who, cost)
    } catch (error) {
      if (error instanceof RateLimiterRes) throw error
      noteStoreLost(error)
      return memory.consume(who, cost)
    }
  }

  /** What is left, in this instance's memory, without spending any of it. */
  async function balance(who: string): Promise<Balance> {
    const state = await memory.get(who)
    return state ? toBalance(state, state.consumedPoints < points) : { granted: true, remaining: points, resetMs: 0 }
  }

  function toBalance({ consumedPoints, msBeforeNext }: RateLimiterRes, granted: boolean): Balance {
    // What was refused without asking the store does not know how much was consumed: all of it.
    return { granted, remaining: granted ? Math.max(points - consumedPoints, 0) : 0, resetMs: msBeforeNext }
  }

  return { name, points, windowSeconds, spend, balance, refused: 0 }
}
