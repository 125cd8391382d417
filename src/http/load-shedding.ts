import type { RequestHandler } from 'express'
import { ApiError } from '../errors.ts'
import type { Limits } from '../config/limits.ts'

const TICK_MS = 20

export const overloadedError = new ApiError('UNAVAILABLE', 'The service is overloaded; the request was not processed.')

export type LoadShedder = ReturnType<typeof createLoadShedder>

/** Sheds new requests under overload (503), before any work is done for them, so that admitted ones finish in time. */
export function createLoadShedder(
  { shedQueueLength, shedQueueMs, shedLagMs }: Limits,
  { pool, waitingCount }: { pool: { readonly longestWaitMs: number }; waitingCount(): number },
) {
  const counts = { queue: 0, event_loop: 0 }
  // By how much the event loop is behind a timer, now and at its last tick: requests that arrived during a lag are handled
  // right after it.
  let lastTickAtMs = performance.now()
  let lastLagMs = 0
  const currentLagMs = () => performance.now() - lastTickAtMs - TICK_MS
  const timer = setInterval(() => {
    lastLagMs = currentLagMs()
    lastTickAtMs = performance.now()
  }, TICK_MS).unref()

  function shedIf(isOverloaded: boolean, reason: keyof typeof counts): void {
    if (!isOverloaded) return
    counts[reason]++
    throw overloadedError
  }

  const shedIfLate = () => shedIf(Math.max(lastLagMs, currentLagMs()) > shedLagMs, 'event_loop')

  /** Sheds a request that uses the database. @throws ApiError UNAVAILABLE */
  function shed(): void {
    shedIf(waitingCount() > shedQueueLength || pool.longestWaitMs > shedQueueMs, 'queue')
    shedIfLate()
  }

  /** Sheds a request that does not use the database. The queue for the database says nothing about such a request. */
  const shedForLag: RequestHandler = (_req, _res, next) => {
    shedIfLate()
    next()
  }

  return { shed, shedForLag, counts, stop: () => clearInterval(timer) }
}
