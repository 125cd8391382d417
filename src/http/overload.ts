import type { RequestHandler } from 'express'
import { ApiError } from '../errors.ts'

/** How often the event loop is looked at, in milliseconds. */
const TICK_MS = 20

/** Made once: a stack trace for each would be a sixth of what a refusal costs. */
const tooMany = new ApiError('UNAVAILABLE', 'Too many requests at the moment. Nothing was changed.')

export interface Bounds {
  /** Requests that may wait for a connection to the database; any number when it is 0. */
  queueLength: number
  /** How long a new one may have to wait there, as far as can be told, in milliseconds; at will when it is 0. */
  queueMs: number
  /** How far behind the event loop may be, in milliseconds; at will when it is 0. */
  delayMs: number
}

/**
 * Refuses new requests while there are too many, before anything is done for them: those that are here already get
 * through sooner than if all waited.
 * @param queue how many requests wait for a connection to the database, and how long a new one would
 */
export function createOverload(
  { queueLength, queueMs, delayMs }: Bounds,
  queue: { length(): number; expectedWaitMs(): number },
) {
  /** How many requests were refused, by the reason. */
  const counts = { queue: 0, event_loop: 0 }
  let lastTick = performance.now()
  /** By how much the last tick was late: requests that came meanwhile are handled right after it. */
  let lateMs = 0
  const timer = setInterval(() => {
    lateMs = behind()
    lastTick = performance.now()
  }, TICK_MS).unref()

  function behind(): number {
    return performance.now() - lastTick - TICK_MS
  }

  function reason(): keyof typeof counts | undefined {
    if (queueLength && queue.length() > queueLength) return 'queue'
    if (queueMs && queue.expectedWaitMs() > queueMs) return 'queue'
    if (delayMs && Math.max(lateMs, behind()) > delayMs) return 'event_loop'
    return undefined
  }

  const shed: RequestHandler = (_req, _res, next) => {
    const why = reason()
    if (!why) return next()
    counts[why]++
    next(tooMany)
  }

  return { shed, counts, stop: () => clearInterval(timer) }
}

export type Overload = ReturnType<typeof createOverload>
