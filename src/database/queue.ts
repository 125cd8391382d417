import type pg from 'pg'
import { NotConnected } from './failure.ts'

type Callback = (error: Error | undefined, ...rest: unknown[]) => void

/** Of the time in which somebody waited, what is so long ago counts a third of what is now, in milliseconds. */
const MEMORY_MS = 1_000

/** When nobody had to wait for so long, the pace is not known any more, in milliseconds. */
const FORGET_MS = 60_000

/**
 * Watches who waits for a connection of a pool. Who gets none is told NotConnected.
 * @returns how long a new one would wait, in milliseconds: no less than the first of them has waited already, nor than
 *   as many as there are take at the pace of late; 0 when nobody waits
 */
export function watchQueue(pool: pg.Pool): () => number {
  /** Since when each of them waits, the longest first. */
  const waiting = new Set<{ since: number }>()
  /** Connections that were waited for and got, and the time between them while there was somebody who waited. */
  let got = 0
  let tookMs = 0
  let lastGot = Number.NEGATIVE_INFINITY
  // Stands in for both forms of connect: with a callback, as the pool's own query uses it, and with a promise.
  const connect = pool.connect.bind(pool) as (callback?: Callback) => unknown

  function join(): (served: boolean) => void {
    const entry = { since: performance.now() }
    const mustWait = pool.idleCount === 0 && pool.totalCount >= pool.options.max
    waiting.add(entry)
    return (served) => {
      // Those before it got theirs in the order they came: it was the first since the last of them did, or since it came.
      waiting.delete(entry)
      if (!served || !mustWait) return
      const now = performance.now()
      const gapMs = now - Math.max(lastGot, entry.since)
      const kept = Math.exp(-gapMs / MEMORY_MS)
      got = got * kept + 1
      tookMs = tookMs * kept + gapMs
      lastGot = now
    }
  }

  function watched(callback?: Callback): unknown {
    const leave = join()
    if (callback) {
      return connect((error, ...rest) => {
        leave(!error)
        callback(error && new NotConnected(error), ...rest)
      })
    }
    const connecting = connect() as Promise<unknown> // as pg has it without a callback
    return connecting.then(
      (client) => {
        leave(true)
        return client
      },
      (error: Error) => {
        leave(false)
        throw new NotConnected(error)
      },
    )
  }
  pool.connect = watched as typeof pool.connect

  return () => {
    for (const { since } of waiting) {
      const now = performance.now()
      // It is known once somebody has waited for half of the memory in all: a moment's pause is no pace.
      const known = tookMs > MEMORY_MS / 2 && now - lastGot < FORGET_MS
      const paceMs = known ? tookMs / got : 0
      return Math.max(now - since, waiting.size * paceMs)
    }
    return 0
  }
}
