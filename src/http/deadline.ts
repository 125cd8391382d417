import { databaseUnavailable, outcomeUnknown } from '../errors.ts'

/** `mayHaveExecuted`: the operation may have written something, so it fails with 504 (unknown) instead of 503. */
type Options = { mayHaveExecuted?: boolean }

/** A request's deadline, and the time that it has spent waiting for the database. */
export interface Deadline {
  /** Milliseconds since the request began. */
  readonly elapsedMs: number
  /** Milliseconds in which the request waited for at least one database operation. */
  readonly databaseMs: number
  /** A deadline with the same limit that begins now, for work shared by several requests. */
  fork(): Deadline
  /**
   * Awaits a database operation. Does not start it after the deadline.
   * @throws ApiError UNAVAILABLE, or DEADLINE_EXCEEDED where it may have executed, at the deadline
   */
  run<T>(operation: () => Promise<T>, options?: Options): Promise<T>
  /**
   * Awaits work shared with other requests. Adds the database time that the work reports, or the whole wait when the
   * work fails.
   * @throws ApiError UNAVAILABLE at the deadline
   */
  runShared<T extends { databaseMs: number }>(work: () => Promise<T>): Promise<T>
}

/** @param limitMs from now to the deadline, in milliseconds */
export function createDeadline(limitMs: number): Deadline {
  const startedAt = performance.now()
  const stopwatch = createStopwatch()
  const elapsedMs = () => performance.now() - startedAt

  return {
    get elapsedMs() {
      return elapsedMs()
    },
    get databaseMs() {
      return stopwatch.ms()
    },
    fork: () => createDeadline(limitMs),
    async run(operation, options) {
      const stop = stopwatch.start()
      try {
        return await withTimeout(operation, limitMs - elapsedMs(), options)
      } finally {
        stop()
      }
    },
    async runShared(work) {
      const since = performance.now()
      try {
        const result = await withTimeout(work, limitMs - elapsedMs())
        stopwatch.add(result.databaseMs)
        return result
      } catch (error) {
        stopwatch.add(performance.now() - since)
        throw error
      }
    },
  }
}

/** Awaits an operation for some milliseconds; does not start it when none remain. */
async function withTimeout<T>(
  operation: () => Promise<T>,
  remainingMs: number,
  { mayHaveExecuted = false }: Options = {},
): Promise<T> {
  if (remainingMs <= 0) throw databaseUnavailable(new Error('deadline passed before the operation started'))
  let timer: NodeJS.Timeout | undefined
  const timeout = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => {
      const cause = new Error('no response before the deadline')
      reject(mayHaveExecuted ? outcomeUnknown(cause) : databaseUnavailable(cause))
    }, remainingMs)
  })
  try {
    return await Promise.race([operation(), timeout])
  } finally {
    clearTimeout(timer)
  }
}

/** Measures the time, in milliseconds, in which at least one of several overlapping waits was in progress. */
function createStopwatch() {
  let totalMs = 0
  let running = 0
  let since = 0
  return {
    ms: () => totalMs + (running ? performance.now() - since : 0),
    add(ms: number): void {
      totalMs += ms
    },
    /** Starts a wait. @returns ends it */
    start(): () => void {
      if (running++ === 0) since = performance.now()
      return () => {
        if (--running === 0) totalMs += performance.now() - since
      }
    },
  }
}
