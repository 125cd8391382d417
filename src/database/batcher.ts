import pg from 'pg'
import { MAX_WAIT_MS } from '../coalesce.ts'
import { databaseFailure } from './failures.ts'

/** Maximum number of inputs of one statement by default: a slow trigger must not take it beyond its timeout. */
export const MAX_BATCH_SIZE = 25

/** @param take returns the inputs; call it once, when there is a connection to send them */
type Execute<Input, Output> = (take: () => Input[]) => Promise<Output[]>

interface Waiter<Input, Output> {
  input: Input
  resolve(output: Output): void
  reject(error: unknown): void
}

/**
 * Executes one statement for all inputs that wait. While a batch is in flight, inputs wait for the next one, unless that
 * is full. An input never joins a statement that has been sent, so a read is never older than its request, on any number
 * of instances. Nothing is cached.
 *
 * A statement that fails rejects each of its inputs with the same error. If PostgreSQL rejected what the statement
 * contains, which rolls it back, each input is executed again alone: one input does not fail the others.
 */
export class Batcher<Input, Output> {
  readonly #execute: Execute<Input, Output>
  readonly #maxSize: number
  readonly #waiting: Waiter<Input, Output>[] = []
  #latestSize = 0
  /** Number of batches that wait for a connection. */
  #unsent = 0
  /** The batches that were sent less than MAX_WAIT_MS ago and have not ended. */
  readonly #inFlight = new Set<Waiter<Input, Output>[]>()

  constructor(execute: Execute<Input, Output>, maxSize = MAX_BATCH_SIZE) {
    this.#execute = execute
    this.#maxSize = maxSize
  }

  /** Inputs that wait and that the queue of the pool does not count: it counts one for each batch. */
  get waitingCount(): number {
    return Math.max(0, this.#waiting.length - this.#unsent)
  }

  execute(input: Input): Promise<Output> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ input, resolve, reject })
      this.#schedule()
    })
  }

  #schedule(): void {
    for (;;) {
      const uncovered = this.#waiting.length - this.#unsent * this.#maxSize
      const mayWait = uncovered < this.#maxSize && this.#unsent + this.#inFlight.size > 0
      if (uncovered <= 0 || mayWait) return
      this.#unsent += 1
      const send = () => void this.#sendNext()
      // Under load after all requests that have arrived: they are one batch. A client alone does not wait for a turn.
      if (this.#latestSize > 1) setImmediate(send)
      else send()
    }
  }

  async #sendNext(): Promise<void> {
    const newest = this.#waiting.at(-1)
    const failed = await this.#send((isConnected) => {
      this.#unsent -= 1
      // A failed checkout fails the inputs that were waiting when it began, not those that have arrived since.
      const waited = isConnected ? this.#waiting.length : this.#waiting.findIndex((waiter) => waiter === newest) + 1
      return this.#waiting.splice(0, Math.min(this.#maxSize, waited))
    })
    this.#schedule()
    for (const waiter of failed) {
      await this.#send(() => [waiter])
      this.#schedule() // what arrived meanwhile waits for this statement, too
    }
  }

  /** Sends one statement. @returns the inputs to execute again, each alone */
  async #send(takeWaiters: (isConnected: boolean) => Waiter<Input, Output>[]): Promise<Waiter<Input, Output>[]> {
    let batch: Waiter<Input, Output>[] | undefined
    let timer: NodeJS.Timeout | undefined
    const take = () => {
      const taken = takeWaiters(true)
      batch = taken
      this.#latestSize = taken.length
      this.#inFlight.add(taken)
      timer = setTimeout(() => {
        this.#inFlight.delete(taken)
        this.#schedule()
      }, MAX_WAIT_MS).unref()
      return taken.map(({ input }) => input)
    }
    try {
      const outputs = await this.#execute(take)
      batch?.forEach(({ resolve }, n) => resolve(outputs[n] as Output)) // there is one for each waiter
      return []
    } catch (error) {
      batch ??= takeWaiters(false)
      if (batch.length > 1 && isRejectedByDatabase(error)) return batch
      batch.forEach(({ reject }) => reject(error))
      return []
    } finally {
      clearTimeout(timer)
      if (batch) this.#inFlight.delete(batch)
    }
  }
}

/** Whether PostgreSQL rejected a statement for what it contains, not because the database is unavailable. */
function isRejectedByDatabase(error: unknown): boolean {
  return error instanceof pg.DatabaseError && databaseFailure(error) === undefined
}
