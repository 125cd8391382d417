/** EWMA time constant in milliseconds: a sample this old weighs 1/e. */
const EWMA_TIME_CONSTANT_MS = 1_000

/** If no checkout waited within this time, in milliseconds, the service rate is unknown. */
const SAMPLE_TTL_MS = 60_000

/**
 * Estimates how long a new request waits for a pooled connection, by Little's law: queue length × mean time between two
 * checkouts, measured only while requests waited. It is never less than the age of the oldest waiter.
 * @param now the clock, in milliseconds
 */
export function createWaitEstimator(now = () => performance.now()) {
  /** The waiters, oldest first. */
  const waiters = new Set<{ since: number }>()
  /** EWMA of checkouts that had to wait, and of the time between them. */
  let weightedCount = 0
  let weightedMs = 0
  let lastCheckoutAt = Number.NEGATIVE_INFINITY

  /**
   * Starts a wait.
   * @param mustWait whether every connection is in use, so that the wait is a sample of the service rate
   * @returns ends the wait; takes whether a connection was obtained
   */
  function enter(mustWait: boolean): (served: boolean) => void {
    const waiter = { since: now() }
    waiters.add(waiter)
    return (served) => {
      waiters.delete(waiter)
      if (served && mustWait) recordCheckout(waiter.since)
    }
  }

  /** Waiters are served in order: this one was the oldest since the previous checkout, or since it arrived. */
  function recordCheckout(since: number): void {
    const at = now()
    const gapMs = at - Math.max(lastCheckoutAt, since)
    const decay = Math.exp(-gapMs / EWMA_TIME_CONSTANT_MS)
    weightedCount = weightedCount * decay + 1
    weightedMs = weightedMs * decay + gapMs
    lastCheckoutAt = at
  }

  /** How long a new request would wait, in milliseconds; 0 without waiters. */
  function expectedMs(): number {
    const [oldest] = waiters
    if (!oldest) return 0
    const at = now()
    // The rate is known after half a time constant of waiting; shorter samples are unreliable.
    const isKnown = weightedMs > EWMA_TIME_CONSTANT_MS / 2 && at - lastCheckoutAt < SAMPLE_TTL_MS
    const msPerCheckout = isKnown ? weightedMs / weightedCount : 0
    return Math.max(at - oldest.since, waiters.size * msPerCheckout)
  }

  return { enter, expectedMs }
}
