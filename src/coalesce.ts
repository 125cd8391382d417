import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'

/** How long a read waits for the previous one with the same key, in milliseconds: a read that hangs delays no other. */
const COALESCE_MAX_WAIT_MS = 100

/**
 * Coalesces concurrent reads with the same key (single-flight with a fresh read).
 *
 * Callers never join a read that has started, since it may predate a write that they know of; while one is in flight,
 * they share the *next* one. So a result is never older than its request, on any number of instances. Nothing is cached:
 * an error reaches the callers of that read and no others.
 */
export function createCoalescer<T>() {
  /** By key: the read that has not started. */
  const next = new Map<string, Promise<T>>()
  /** By key: settles when the read that started last ends, with or without an error. */
  const current = new Map<string, Promise<void>>()

  async function start(key: string, read: () => Promise<T>): Promise<T> {
    const previous = current.get(key)
    await (previous ? Promise.race([previous, sleep(COALESCE_MAX_WAIT_MS, undefined, { ref: false })]) : nextTurn())
    next.delete(key)
    let end = () => {}
    const ended = new Promise<void>((resolve) => (end = resolve))
    current.set(key, ended)
    try {
      return await read()
    } finally {
      end()
      if (current.get(key) === ended) current.delete(key)
    }
  }

  return (key: string, read: () => Promise<T>): Promise<T> => {
    const shared = next.get(key) ?? start(key, read)
    next.set(key, shared)
    return shared
  }
}
