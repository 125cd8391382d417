import type { Request, Response } from 'express'
import type { Limits } from '../config/limits.ts'
import type { KeptBytes } from './kept-bytes.ts'
import { overloadedError } from './load-shedding.ts'
import { callerOf } from './request.ts'

/** How much of each turn of the event loop one client may take, in milliseconds. */
const TURN_MS = 2

/**
 * How many requests of a client that have waited too long are rejected in a turn. A client that repeats rejected requests at
 * once on hundreds of connections would otherwise delay the others more than by its work.
 */
const REJECTIONS_IN_TURN = 8

/** The memory that a request takes while it waits, beside its head and its body. */
const WAITER_BYTES = 2 * 1024

interface WaitingRequest {
  isLate(): boolean
  begin(): void
  reject(error: Error): void
}

interface ClientTurn {
  /** What its requests have taken of the current turn, in milliseconds. */
  usedMs: number
  /** Its requests that wait for a turn, oldest first. */
  waiters: Set<WaitingRequest>
}

/**
 * Shares the event loop between clients (decision 30). The work before the cost of a request is known, such as parsing
 * JSON and validating a document, may take milliseconds. Node would do this work in the order in which bodies arrive, so
 * one client with many connections would delay all others. Therefore each client has TURN_MS of each turn of the event
 * loop. Its further requests wait for the next turn, which begins at least one of each client, unless all have waited too
 * long.
 */
export class Turns {
  /** Requests that were rejected because they have waited too long. */
  readonly counts = { client: 0 }
  readonly #keptBytes: KeptBytes
  readonly #maxWaitMs: number
  readonly #clients = new Map<bigint, ClientTurn>()
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
  inTurn<T>(req: Request, res: Response, work: () => Promise<T>, bodyBytes = 0): Promise<T> {
    const client = this.#clientOf(callerOf(req).clientId)
    if (client.usedMs < TURN_MS && client.waiters.size === 0) return this.#measure(client, work)
    return new Promise((resolve, reject) => {
      const sinceMs = performance.now()
      const waiter: WaitingRequest = {
        isLate: () => performance.now() - sinceMs > this.#maxWaitMs || req.deadline.hasPassed,
        begin: () => {
          leave()
          this.#measure(client, work).then(resolve, reject)
        },
        reject: (error) => {
          leave()
          reject(error)
        },
      }
      let hold: ReturnType<KeptBytes['hold']> | undefined
      const leave = () => {
        hold?.release()
        client.waiters.delete(waiter)
        res.off('close', leave) // else it would keep the body in memory as long as a stream is open
      }
      client.waiters.add(waiter)
      res.on('close', leave)
      hold = this.#keptBytes.hold(res, WAITER_BYTES + bodyBytes, waiter.reject)
    })
  }

  /** Charges synchronous work to the client whose request has caused it, so that its next requests may have to wait. */
  charge(clientId: bigint, ms: number): void {
    this.#clientOf(clientId).usedMs += ms
    this.#schedule()
  }

  #clientOf(clientId: bigint): ClientTurn {
    const client = this.#clients.get(clientId) ?? { usedMs: 0, waiters: new Set() }
    this.#clients.set(clientId, client)
    return client
  }

  #measure<T>(client: ClientTurn, work: () => T): T {
    this.#schedule()
    const beganAtMs = performance.now()
    try {
      return work()
    } finally {
      client.usedMs += performance.now() - beganAtMs
    }
  }

  #schedule(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    setImmediate(() => this.#beginTurn())
  }

  /** Begins waiting requests, oldest first. It skips those that have waited too long, and rejects some of them. */
  #beginTurn(): void {
    this.#isScheduled = false
    for (const [clientId, client] of this.#clients) {
      if (client.waiters.size === 0) this.#clients.delete(clientId)
      client.usedMs = 0
      let rejections = 0
      for (const waiter of client.waiters) {
        if (client.usedMs >= TURN_MS) break
        if (!waiter.isLate()) waiter.begin()
        else if (rejections < REJECTIONS_IN_TURN) {
          rejections++
          waiter.reject(overloadedError)
        }
      }
      this.counts.client += rejections
      if (client.waiters.size > 0) this.#schedule()
    }
  }
}
