import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'

/** How long a read or a batch waits for the one before it, in milliseconds: one that hangs delays the next by no more. */
export const MAX_WAIT_MS = 100

/**
 * Coalesces concurrent reads with the same key: single-flight with a fresh read (decision 5). A caller never shares a read
 * that has started, since it may predate a write that the caller knows of: callers that arrive meanwhile share the *next*
 * read. So a result is never older than its request, on any number of instances. Nothing is cached, not even an error.
 */
export function createCoalescer<T>() {
  /** The read of each key that has not started. */
  const next = new Map<string, Promise<T>>()
  /** The keys of `next` whose read has several callers. */
  const shared = new Set<string>()
  /** For each key, a promise that settles when the read that started last ends, with or without an error. */
  const current = new Map<string, Promise<unknown>>()
  let latestWasShared = false

  function start(key: string, read: () => Promise<T>): Promise<T> {
    next.delete(key)
    latestWasShared = shared.delete(key)
    const result = read()
    const ended = result.then(forget, forget)
    function forget() {
      if (current.get(key) === ended) current.delete(key)
    }
    current.set(key, ended)
    return result
  }

  return (key: string, read: () => Promise<T>): Promise<T> => {
    const waiting = next.get(key)
    if (waiting) {
      shared.add(key)
      return waiting
    }
    const previous = current.get(key)
    // Under load, requests that have arrived are handled first, so that they share a read. A client alone does not wait.
    if (!previous && !latestWasShared) return start(key, read)
    const ready = previous ? Promise.race([previous, sleep(MAX_WAIT_MS, undefined, { ref: false })]) : nextTurn()
    const result = ready.then(() => start(key, read))
    next.set(key, result)
    return result
  }
}
