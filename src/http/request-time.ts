import { noAnswer } from '../errors.ts'

/**
 * The time that a request takes: how long it has waited for the database, and when it has waited enough. Keys and
 * animals are waited for here, so that an answer never takes longer than the limit by much.
 */
export class RequestTime {
  readonly #began = performance.now()
  readonly #limitMs: number
  #waits = 0
  #waitingSince = 0
  #waitedMs = 0

  constructor(limitMs: number) {
    this.#limitMs = limitMs
  }

  /** Milliseconds since the request began. */
  get elapsedMs(): number {
    return performance.now() - this.#began
  }

  /** Milliseconds in which at least one answer of the database was awaited. */
  get databaseMs(): number {
    return this.#waitedMs + (this.#waits ? performance.now() - this.#waitingSince : 0)
  }

  /** A time of its own, as long, for what is done for several requests. */
  another(): RequestTime {
    return new RequestTime(this.#limitMs)
  }

  /**
   * Waits for the database.
   * @param ask what is asked; not even asked when the time is over
   * @param operation a write that is not back in time has an unknown outcome (504); a read did nothing (503)
   */
  async database<T>(ask: () => Promise<T>, operation: 'read' | 'write' = 'read'): Promise<T> {
    if (this.#waits++ === 0) this.#waitingSince = performance.now()
    try {
      return await this.#inTime(ask, operation)
    } finally {
      if (--this.#waits === 0) this.#waitedMs += performance.now() - this.#waitingSince
    }
  }

  /**
   * Waits for what is done for several requests, and counts the time that it says it waited for the database; all of the
   * wait when it comes to nothing.
   * @param ask what is asked; not even asked when the time is over
   */
  async shared<T extends { databaseMs: number }>(ask: () => Promise<T>): Promise<T> {
    const since = performance.now()
    try {
      const answer = await this.#inTime(ask, 'read')
      this.#waitedMs += answer.databaseMs
      return answer
    } catch (error) {
      this.#waitedMs += performance.now() - since
      throw error
    }
  }

  #inTime<T>(ask: () => Promise<T>, operation: 'read' | 'write'): Promise<T> {
    return new Promise((resolve, reject) => {
      const leftMs = this.#limitMs - this.elapsedMs
      if (leftMs <= 0) throw noAnswer('read', new Error('no time left'))
      const answer = ask()
      const timer = setTimeout(() => reject(noAnswer(operation, new Error('no answer in time'))), leftMs)
      const end = (settle: () => void) => {
        clearTimeout(timer)
        settle()
      }
      answer.then(
        (value) => end(() => resolve(value)),
        (error: unknown) => end(() => reject(error)),
      )
    })
  }
}
