import type { RequestHandler } from 'express'
import { ApiError } from '../errors.ts'

/** How often the event-loop lag is measured, in milliseconds. */
const TICK_MS = 20

/** Created once: a stack trace for each would be a sixth of what a rejection costs. */
const overloaded = new ApiError('UNAVAILABLE', 'The service is overloaded; the request was not processed.')

/** Above any of these, new requests are shed; 0 disables a limit. */
export interface LoadSheddingLimits {
  /** Requests that wait for a database connection. */
  queueLength: number
  /** Expected wait of a new request for a database connection, in milliseconds. */
  queueMs: number
  /** Event-loop lag, in milliseconds. */
  delayMs: number
}

/**
 * Sheds new requests under overload (503), before any work is done for them, so that requests already admitted finish
 * in time.
 * @param queue the number of requests that wait for a database connection, and the expected wait of a new one
 */
export function createLoadShedder(
  { queueLength, queueMs, delayMs }: LoadSheddingLimits,
  queue: { length(): number; expectedWaitMs(): number },
) {
  /** Requests shed, by reason. */
  const counts = { queue: 0, event_loop: 0 }
  type Reason = keyof typeof counts
  let lastTick = performance.now()
  /** Event-loop lag at the last tick: requests that arrived during the lag are handled right after it. */
  let lastLagMs = 0
  const timer = setInterval(() => {
    lastLagMs = currentLagMs()
    lastTick = performance.now()
  }, TICK_MS).unref()

  function currentLagMs(): number {
    return performance.now() - lastTick - TICK_MS
  }

  function queueReason(): Reason | undefined {
    if (queueLength && queue.length() > queueLength) return 'queue'
    if (queueMs && queue.expectedWaitMs() > queueMs) return 'queue'
    return undefined
  }

  function lagReason(): Reason | undefined {
    return delayMs && Math.max(lastLagMs, currentLagMs()) > delayMs ? 'event_loop' : undefined
  }

  function shedFor(getReason: () => Reason | undefined): RequestHandler {
    return (_req, _res, next) => {
      const reason = getReason()
      if (!reason) return next()
      counts[reason]++
      next(overloaded)
    }
  }

  return {
    /** For requests that use the database. */
    shed: shedFor(() => queueReason() ?? lagReason()),
    /** For requests that do not use the database, whose queue therefore says nothing about them. */
    shedForLag: shedFor(lagReason),
    counts,
    stop: () => clearInterval(timer),
  }
}

export type LoadShedder = ReturnType<typeof createLoadShedder>
