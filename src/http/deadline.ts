import { noAnswerError, outcomeUnknownError } from '../errors.ts'

/** A request's deadline, and the time that it has spent waiting for the database. All times are in milliseconds. */
export class Deadline {
  readonly #limitMs: number
  #extraMs = 0
  readonly #beganAtMs = performance.now()
  #databaseMs = 0
  /** How many waits are in progress (they may overlap), and when the first of them began. */
  #waiting = 0
  #waitingSinceMs = 0

  constructor(limitMs: number) {
    this.#limitMs = limitMs
  }

  get elapsedMs(): number {
    return performance.now() - this.#beganAtMs
  }

  get hasPassed(): boolean {
    return this.#remainingMs <= 0
  }

  get #remainingMs(): number {
    return this.#limitMs + this.#extraMs - this.elapsedMs
  }

  /** The time in which the request waited for at least one database operation. */
  get databaseMs(): number {
    return this.#databaseMs + (this.#waiting ? performance.now() - this.#waitingSinceMs : 0)
  }

  /** Adds the time in which the client has sent the body, which has a limit of its own (`REQUEST_TIMEOUT_MS`). */
  extendBy(ms: number): void {
    this.#extraMs += ms
  }

  /** A deadline with the same limit that begins now, for work shared by several requests. */
  fork(): Deadline {
    return new Deadline(this.#limitMs)
  }

  /**
   * Awaits a database operation. Does not start it after the deadline.
   * @throws ApiError UNAVAILABLE at the deadline, or DEADLINE_EXCEEDED where the operation may have written something
   */
  async waitFor<T>(operation: () => Promise<T>, { mayHaveExecuted = false } = {}): Promise<T> {
    if (this.#waiting++ === 0) this.#waitingSinceMs = performance.now()
    try {
      return await this.#withTimeout(operation, mayHaveExecuted ? outcomeUnknownError : noAnswerError)
    } finally {
      if (--this.#waiting === 0) this.#databaseMs += performance.now() - this.#waitingSinceMs
    }
  }

  /** Awaits work that requests share. Adds the database time that the work reports or, if it fails, the whole wait. */
  async waitForShared<T extends { databaseMs: number }>(work: () => Promise<T>): Promise<T> {
    const beganAtMs = performance.now()
    try {
      const result = await this.#withTimeout(work, noAnswerError)
      this.#databaseMs += result.databaseMs
      return result
    } catch (error) {
      this.#databaseMs += performance.now() - beganAtMs
      throw error
    }
  }

  async #withTimeout<T>(operation: () => Promise<T>, toError: (cause: Error) => Error): Promise<T> {
    const remainingMs = this.#remainingMs
    if (remainingMs <= 0) throw noAnswerError(new Error('deadline passed before the operation started'))
    let timer: NodeJS.Timeout | undefined
    try {
      return await new Promise<T>((resolve, reject) => {
        timer = setTimeout(() => reject(toError(new Error('no response before the deadline'))), remainingMs)
        operation().then(resolve, reject)
      })
    } finally {
      clearTimeout(timer)
    }
  }
}
