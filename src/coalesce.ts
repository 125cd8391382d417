import { setTimeout as sleep } from 'node:timers/promises'

/** How long a read or a batch waits for the one before it, in milliseconds: one that hangs delays others no longer. */
export const MAX_WAIT_MS = 100

/**
 * Coalesces concurrent reads with the same key (single-flight with a fresh read). A caller never shares a read that has
 * started, since it may predate a write that the caller knows of: callers that arrive meanwhile share the *next* read. So a
 * result is never older than its request, on any number of instances. Nothing is cached, not even an error.
 */
export function createCoalescer<T>() {
  /** The read of each key that has not started. */
  const next = new Map<string, Promise<T>>()
  /** For each key, a promise that settles when the read that started last ends, with or without an error. */
  const current = new Map<string, Promise<unknown>>()

  function start(key: string, read: () => Promise<T>): Promise<T> {
    const result = read()
    const ended = result.then(forget, forget)
    function forget() {
      if (current.get(key) === ended) current.delete(key)
    }
    current.set(key, ended)
    return result
  }

  async function startAfter(previous: Promise<unknown>, key: string, read: () => Promise<T>): Promise<T> {
    await Promise.race([previous, sleep(MAX_WAIT_MS, undefined, { ref: false })])
    next.delete(key)
    return start(key, read)
  }

  return (key: string, read: () => Promise<T>): Promise<T> => {
    const previous = current.get(key)
    if (!previous) return start(key, read)
    const shared = next.get(key) ?? startAfter(previous, key, read)
    next.set(key, shared)
    return shared
  }
}
