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

  /**
   * Waits for the database.
   * @param ask what is asked; not even asked when the time is over
   * @param operation a write that is not back in time has an unknown outcome (504); a read did nothing (503)
   */
  async database<T>(ask: () => Promise<T>, operation: 'read' | 'write' = 'read'): Promise<T> {
    const leftMs = this.#limitMs - this.elapsedMs
    if (leftMs <= 0) throw noAnswer('read', new Error('no time left'))
    if (this.#waits++ === 0) this.#waitingSince = performance.now()
    let timer: NodeJS.Timeout | undefined
    const tooLong = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(() => reject(noAnswer(operation, new Error('no answer in time'))), leftMs)
    })
    try {
      return await Promise.race([ask(), tooLong])
    } finally {
      clearTimeout(timer)
      if (--this.#waits === 0) this.#waitedMs += performance.now() - this.#waitingSince
    }
  }
}
