import { databaseUnavailable, outcomeUnknown } from '../errors.ts'

/** What becomes unknown when an operation does not end in time. */
export interface DeadlineOptions {
  /** The operation may have written something: its outcome is unknown (504) instead of "not executed" (503). */
  mayHaveExecuted?: boolean
}

/** A request's deadline, and the time that it has spent waiting for the database. */
export interface Deadline {
  /** Milliseconds since the request began. */
  readonly elapsedMs: number
  /** Milliseconds in which at least one operation of the database was awaited. */
  readonly databaseMs: number
  /** A deadline as long as this one, that begins now: for work shared by several requests. */
  fork(): Deadline
  /**
   * Awaits an operation of the database, which is not even started once the deadline has passed.
   * @throws ApiError UNAVAILABLE, or DEADLINE_EXCEEDED where it may have executed, at the deadline
   */
  run<T>(operation: () => Promise<T>, options?: DeadlineOptions): Promise<T>
  /**
   * Awaits work shared with other requests, and adds the database time that the work reports; when it fails, all of the
   * wait.
   * @throws ApiError UNAVAILABLE at the deadline
   */
  runShared<T extends { databaseMs: number }>(work: () => Promise<T>): Promise<T>
}

/** @param limitMs how long the request may wait for the database in all, in milliseconds */
export function createDeadline(limitMs: number): Deadline {
  const startedAt = performance.now()
  const stopwatch = createStopwatch()

  const elapsedMs = () => performance.now() - startedAt

  function withTimeout<T>(operation: () => Promise<T>, { mayHaveExecuted = false }: DeadlineOptions): Promise<T> {
    return new Promise((resolve, reject) => {
      const remainingMs = limitMs - elapsedMs()
      if (remainingMs <= 0) throw databaseUnavailable(new Error('deadline passed before the operation started'))
      const onTimeout = () => {
        const cause = new Error('no response before the deadline')
        reject(mayHaveExecuted ? outcomeUnknown(cause) : databaseUnavailable(cause))
      }
      const result = operation()
      const timer = setTimeout(onTimeout, remainingMs)
      result.then(
        (value) => {
          clearTimeout(timer)
          resolve(value)
        },
        (error: unknown) => {
          clearTimeout(timer)
          reject(error)
        },
      )
    })
  }

  return {
    get elapsedMs() {
      return elapsedMs()
    },
    get databaseMs() {
      return stopwatch.ms()
    },
    fork: () => createDeadline(limitMs),
    async run(operation, options = {}) {
      const stop = stopwatch.start()
      try {
        return await withTimeout(operation, options)
      } finally {
        stop()
      }
    },
    async runShared(work) {
      const since = performance.now()
      try {
        const result = await withTimeout(work, {})
        stopwatch.add(result.databaseMs)
        return result
      } catch (error) {
        stopwatch.add(performance.now() - since)
        throw error
      }
    },
  }
}

/** Sums up the time, in milliseconds, in which at least one of several overlapping waits was under way. */
function createStopwatch() {
  let totalMs = 0
  let running = 0
  let since = 0
  return {
    ms: () => totalMs + (running ? performance.now() - since : 0),
    add(ms: number): void {
      totalMs += ms
    },
    /** @returns to call when the wait is over */
    start(): () => void {
      if (running++ === 0) since = performance.now()
      return () => {
        if (--running === 0) totalMs += performance.now() - since
      }
    },
  }
}
