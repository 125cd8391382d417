/** How long a read waits for the one before it, in milliseconds: one that hangs holds nobody up for longer. */
export const COALESCE_MAX_WAIT_MS = 100

/** Answers with the read that everybody gets who asked for `key` since the last one began. */
export type Coalesce<T> = (key: string, read: () => Promise<T>) => Promise<T>

/**
 * Joins reads of the same thing that are asked for at the same time.
 *
 * While one is under way, all who come share the *next*; nobody joins one that has begun, since it may have looked
 * before a write that the newcomer already knows of. So every answer is at least as new as its request, on any number
 * of instances, and nothing is ever kept: an error goes to those who asked together and is forgotten with them.
 */
export function createCoalescer<T>(): Coalesce<T> {
  /** By key: what has not begun yet. */
  const next = new Map<string, Promise<T>>()
  /** By key: the end of what has, well or badly. */
  const current = new Map<string, Promise<void>>()

  async function begin(key: string, read: () => Promise<T>): Promise<T> {
    const before = current.get(key)
    await (before ? Promise.race([before, maxWait()]) : nextEventLoopTick())
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
    let promise = next.get(key)
    if (!promise) {
      promise = begin(key, read)
      next.set(key, promise)
    }
    return promise
  }
}

/** The end of this turn of the event loop: all who ask in it ask together. */
function nextEventLoopTick(): Promise<void> {
  return new Promise((resolve) => void setImmediate(resolve))
}

function maxWait(): Promise<void> {
  return new Promise((resolve) => void setTimeout(resolve, COALESCE_MAX_WAIT_MS).unref())
}
