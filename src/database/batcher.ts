import pg from 'pg'
import { MAX_WAIT_MS } from '../lib/coalesce.ts'
import { databaseFailure } from './failures.ts'

/** Default maximum number of inputs of a statement. With more, a slow trigger could take a statement beyond its timeout. */
export const MAX_BATCH_SIZE = 25

/** @param take returns the inputs; call it once, as late as possible, since inputs that arrive before share the statement */
type Execute<Input, Output> = (take: () => Input[]) => Promise<Output[]>

interface WaitingInput<Input, Output> {
  input: Input
  resolve(output: Output): void
  reject(error: unknown): void
}

/**
 * Executes one statement for all inputs that wait (decision 24). While a batch is in flight, inputs wait for the next
 * batch, unless that is full. An input is never added to a statement that has been sent, so the result of a read is never
 * older than its request, on any number of instances. Nothing is cached.
 *
 * If a statement fails, all its inputs are rejected with the same error, with one exception: if PostgreSQL rejected (and so
 * rolled back) the statement for its contents, each input is executed again alone, so that one input fails no others.
 */
export class Batcher<Input, Output> {
  readonly #execute: Execute<Input, Output>
  readonly #maxSize: number
  readonly #waiting: WaitingInput<Input, Output>[] = []
  #latestSize = 0
  /** Number of batches that wait for a connection. */
  #unsent = 0
  /** The batches that were sent less than MAX_WAIT_MS ago and have not ended. */
  readonly #inFlight = new Set<WaitingInput<Input, Output>[]>()

  constructor(execute: Execute<Input, Output>, maxSize = MAX_BATCH_SIZE) {
    this.#execute = execute
    this.#maxSize = maxSize
  }

  /** How many inputs wait, less one for each batch that waits for a connection, which the pool's queue counts. */
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
      // Under load, requests that have arrived are handled first, so that they share a batch. A client alone does not wait.
      if (this.#latestSize > 1) setImmediate(send)
      else send()
    }
  }

  async #sendNext(): Promise<void> {
    const newest = this.#waiting.at(-1)
    const takeFirst = (count: number) => {
      this.#unsent -= 1
      return this.#waiting.splice(0, Math.min(this.#maxSize, count))
    }
    const rejected = await this.#send(
      () => takeFirst(this.#waiting.length),
      // A failed checkout fails the inputs that were waiting when it began, not those that have arrived since.
      () => takeFirst(this.#waiting.findIndex((waiter) => waiter === newest) + 1),
    )
    this.#schedule()
    for (const waiter of rejected) {
      await this.#send(() => [waiter])
      this.#schedule() // for inputs that have arrived while this statement was executed
    }
  }

  /** Sends one statement. @param takeUnsent takes what to reject without a connection @returns what to execute again, alone */
  async #send(takeWaiters: () => WaitingInput<Input, Output>[], takeUnsent = takeWaiters) {
    let batch: WaitingInput<Input, Output>[] | undefined
    let timer: NodeJS.Timeout | undefined
    const take = () => {
      const taken = takeWaiters()
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
      batch ??= takeUnsent()
      // Rejected for what it contains, not because the database is unavailable.
      const isRejected = error instanceof pg.DatabaseError && databaseFailure(error) === undefined
      if (batch.length > 1 && isRejected) return batch
      batch.forEach(({ reject }) => reject(error))
      return []
    } finally {
      clearTimeout(timer)
      if (batch) this.#inFlight.delete(batch)
    }
  }
}
