import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'

/** How long a read or a batch waits for the one before it, in milliseconds: one that hangs delays the next by no more. */
export const MAX_WAIT_MS = 100

/** @param isImmediate whether the read begins during the call of the coalescer, not later */
type Read<T> = (isImmediate: boolean) => Promise<T>

/**
 * Coalesces concurrent reads with the same key: single-flight with a fresh read (decision 5). A caller never shares a read
 * that has started, since it may predate a write that the caller knows of: callers that arrive meanwhile share the *next*
 * read. So a result is never older than its request, on any number of instances. Nothing is cached, not even an error.
 */
export function createCoalescer<T>() {
  /** The read of each key that has not started, and whether it has several callers. */
  const next = new Map<string, { result: Promise<T>; isShared: boolean }>()
  /** For each key, a promise that settles when the read that started last ends, with or without an error. */
  const current = new Map<string, Promise<unknown>>()
  let latestWasShared = false

  function start(key: string, read: Read<T>, isImmediate: boolean): Promise<T> {
    latestWasShared = next.get(key)?.isShared ?? false
    next.delete(key)
    const result = read(isImmediate)
    const ended = result.then(forget, forget)
    function forget() {
      if (current.get(key) === ended) current.delete(key)
    }
    current.set(key, ended)
    return result
  }

  return (key: string, read: Read<T>): Promise<T> => {
    const waiting = next.get(key)
    if (waiting) {
      waiting.isShared = true
      return waiting.result
    }
    const previous = current.get(key)
    // Under load, requests that have arrived are handled first, so that they share a read. A client alone does not wait.
    if (!previous && !latestWasShared) return start(key, read, true)
    const ready = previous ? Promise.race([previous, sleep(MAX_WAIT_MS, undefined, { ref: false })]) : nextTurn()
    const result = ready.then(() => start(key, read, false))
    next.set(key, { result, isShared: false })
    return result
  }
}
