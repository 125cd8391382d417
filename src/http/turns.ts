import type { Request, Response } from 'express'
import type { Limits } from '../limits.ts'
import type { KeptBytes } from './kept-bytes.ts'
import { overloadedError } from './load-shedding.ts'
import { callerOf } from './request.ts'

/** How much of each turn of the event loop one client may take, in milliseconds. */
const TURN_MS = 2

/**
 * What a rejection is charged, in milliseconds: some are sent in a turn. A client that repeats rejected requests at once on
 * hundreds of connections would otherwise delay the others more than by its work.
 */
const REJECTION_MS = 0.25

/** The memory that a request takes while it waits, beside its head and its body. */
const WAITER_BYTES = 2 * 1024

interface Waiter {
  sinceMs: number
  begin(): void
}

interface Client {
  /** What its requests have taken of the current turn, in milliseconds. */
  usedMs: number
  /** Its requests that wait for a turn, oldest first. */
  waiters: Set<Waiter>
}

/**
 * Shares the event loop between clients. The work before the cost of a request is known, such as parsing JSON and
 * validating a document, may take milliseconds. Node would do this work in the order in which bodies arrive, so one client
 * with many connections would delay all others. Therefore each client has TURN_MS of each turn of the event loop. Its
 * further requests wait for the next turn, which begins at least one request of each client that waits.
 */
export class Turns {
  /** Requests that were rejected because they have waited too long. */
  readonly counts = { client: 0 }
  readonly #keptBytes: KeptBytes
  readonly #maxWaitMs: number
  readonly #clients = new Map<bigint, Client>()
  #isScheduled = false

  constructor(keptBytes: KeptBytes, { turnWaitMs }: Pick<Limits, 'turnWaitMs'>) {
    this.#keptBytes = keptBytes
    this.#maxWaitMs = turnWaitMs
  }

  /**
   * Begins the work of a request when its client has a turn. The time of the work up to its first `await` is charged to
   * the client. If the client closes the connection while the request waits, the work never begins.
   * @param bodyBytes the size of the body, which stays in memory while the request waits
   * @throws ApiError before the work begins: UNAVAILABLE if the request has waited too long, or its deadline has passed;
   * RESOURCE_EXHAUSTED or UNAVAILABLE if too many bytes are kept
   */
  run<T>(req: Request, res: Response, work: () => Promise<T>, bodyBytes = 0): Promise<T> {
    const { clientId } = callerOf(req)
    const client = this.#clientOf(clientId)
    if (client.usedMs < TURN_MS && client.waiters.size === 0) return this.#measure(client, work)
    return new Promise((resolve, reject) => {
      const waiter: Waiter = {
        sinceMs: performance.now(),
        begin: () => {
          hold.release()
          const isInTime = performance.now() - waiter.sinceMs <= this.#maxWaitMs && !req.deadline.hasPassed
          if (isInTime) return void this.#measure(client, work).then(resolve, reject)
          this.counts.client++
          this.charge(clientId, REJECTION_MS)
          reject(overloadedError)
        },
      }
      const leave = () => client.waiters.delete(waiter)
      client.waiters.add(waiter)
      res.once('close', leave)
      const hold = this.#keptBytes.hold(res, WAITER_BYTES + bodyBytes, (error) => {
        leave()
        reject(error)
      })
    })
  }

  /** Charges synchronous work to the client whose request has caused it, so that its next requests may have to wait. */
  charge(clientId: bigint, ms: number): void {
    this.#clientOf(clientId).usedMs += ms
    if (!this.#isScheduled) this.#schedule()
  }

  #clientOf(clientId: bigint): Client {
    const client = this.#clients.get(clientId) ?? { usedMs: 0, waiters: new Set() }
    this.#clients.set(clientId, client)
    return client
  }

  #measure<T>(client: Client, work: () => T): T {
    if (!this.#isScheduled) this.#schedule()
    const beganAtMs = performance.now()
    try {
      return work()
    } finally {
      client.usedMs += performance.now() - beganAtMs
    }
  }

  #schedule(): void {
    this.#isScheduled = true
    setImmediate(() => this.#beginTurn())
  }

  #beginTurn(): void {
    this.#isScheduled = false
    for (const [clientId, client] of this.#clients) {
      if (client.waiters.size === 0) this.#clients.delete(clientId)
      client.usedMs = 0
      for (const waiter of client.waiters) {
        if (client.usedMs >= TURN_MS) break
        client.waiters.delete(waiter)
        waiter.begin()
      }
    }
  }
}
