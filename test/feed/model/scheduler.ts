const { setImmediate: afterMicrotasks } = globalThis // before a test replaces it

/**
 * Lets those that wait for a turn continue one by one, in an order that follows from the seed. fast-check's own scheduler awaits
 * 50 microtasks before each turn, and keeps every turn.
 */
export class Scheduler {
  readonly #waiting: (() => void)[] = []
  #state: number

  constructor(seed: number) {
    this.#state = seed
  }

  turn(): Promise<void> {
    return new Promise((resolve) => this.#waiting.push(resolve))
  }

  /** Schedules until the promise is settled. Everything that runs between two turns has to end without I/O. */
  async waitFor(promise: Promise<void>): Promise<void> {
    let isSettled = false
    const settle = () => void (isSettled = true)
    promise.then(settle, settle)
    for (;;) {
      await new Promise<void>((resolve) => afterMicrotasks(resolve))
      if (isSettled) return promise
      const [next] = this.#waiting.splice(this.#random(this.#waiting.length), 1)
      if (!next) throw new Error('Nothing waits for a turn')
      next()
    }
  }

  /** The generator splitmix32. @returns an integer from 0, less than `end` */
  #random(end: number): number {
    let n = (this.#state = (this.#state + 0x9e3779b9) | 0)
    n = Math.imul(n ^ (n >>> 16), 0x85ebca6b)
    n = Math.imul(n ^ (n >>> 13), 0xc2b2ae35)
    return ((n ^ (n >>> 16)) >>> 0) % end
  }
}
