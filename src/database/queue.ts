import type pg from 'pg'

type Callback = (...args: unknown[]) => void

/**
 * Watches who waits for a connection of a pool.
 * @returns how long the one has waited that has waited longest, in milliseconds; 0 when nobody waits
 */
export function watchQueue(pool: pg.Pool): () => number {
  /** Since when each of them waits, the longest first. */
  const waiting = new Set<{ since: number }>()
  // Stands in for both forms of connect: with a callback, as the pool's own query uses it, and with a promise.
  const connect = pool.connect.bind(pool) as (callback?: Callback) => unknown

  function watched(callback?: Callback): unknown {
    const entry = { since: performance.now() }
    waiting.add(entry)
    if (callback) {
      return connect((...args) => {
        waiting.delete(entry)
        callback(...args)
      })
    }
    const client = connect() as Promise<unknown> // as pg has it without a callback
    const leave = () => void waiting.delete(entry)
    client.then(leave, leave)
    return client
  }
  pool.connect = watched as typeof pool.connect

  return () => {
    for (const { since } of waiting) return performance.now() - since
    return 0
  }
}
