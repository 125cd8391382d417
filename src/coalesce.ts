/** How long a read waits for the previous one with the same key, in milliseconds: a read that hangs delays no other. */
export const COALESCE_MAX_WAIT_MS = 100

/** @returns the result of the read shared by all callers that arrived after the previous read for `key` started */
type Coalesce<T> = (key: string, read: () => Promise<T>) => Promise<T>

/**
 * Coalesces concurrent reads with the same key (single-flight with a fresh read).
 *
 * Callers never join a read that has started, since it may predate a write that they know of; while one is in flight,
 * they share the *next* one. So a result is never older than its request, on any number of instances. Nothing is cached:
 * an error reaches the callers of that read and no others.
 */
export function createCoalescer<T>(): Coalesce<T> {
  /** By key: the read that has not started. */
  const next = new Map<string, Promise<T>>()
  /** By key: settles when the read that started last ends, with or without an error. */
  const current = new Map<string, Promise<void>>()

  async function start(key: string, read: () => Promise<T>): Promise<T> {
    const previous = current.get(key)
    await (previous ? Promise.race([previous, maxWait()]) : nextEventLoopTick())
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

  return (key, read) => {
    const shared = next.get(key) ?? start(key, read)
    next.set(key, shared)
    return shared
  }
}

function nextEventLoopTick(): Promise<void> {
  return new Promise((resolve) => void setImmediate(resolve))
}

function maxWait(): Promise<void> {
  return new Promise((resolve) => void setTimeout(resolve, COALESCE_MAX_WAIT_MS).unref())
}
