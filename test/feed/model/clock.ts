import { syncBuiltinESMExports } from 'node:module'
import timersPromises from 'node:timers/promises'
import { onTestFinished } from 'vitest'

/** Waits until the scheduler lets its caller continue. @param label what happens then, for readers */
export type Turn = (label: string) => Promise<void>

interface Timer {
  atMs: number
  fire(): void
  unref(): Timer
}

/** The clock of one schedule. Timers fire in order, each at a moment that the scheduler chooses. */
export class Clock {
  nowMs = 1_000
  readonly #turn: Turn
  #timers: Timer[] = []
  #isRunning = false

  constructor(turn: Turn) {
    this.#turn = turn
  }

  add(fire: () => void, ms = 0): Timer {
    const timer: Timer = { atMs: this.nowMs + ms, fire, unref: () => timer }
    this.#timers.push(timer)
    if (!this.#isRunning) void this.#run()
    return timer
  }

  remove(timer: Timer | undefined): void {
    this.#timers = this.#timers.filter((other) => other !== timer)
  }

  sleep(ms?: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const timer = this.add(resolve, ms)
      const abort = () => {
        this.remove(timer)
        reject(new Error('aborted'))
      }
      if (signal?.aborted) abort()
      signal?.addEventListener('abort', abort)
    })
  }

  async #run(): Promise<void> {
    this.#isRunning = true
    while (this.#timers.length > 0) {
      await this.#turn('clock')
      if (this.#timers.length === 0) break
      const next = this.#timers.reduce((first, timer) => (timer.atMs < first.atMs ? timer : first))
      this.remove(next)
      this.nowMs = next.atMs
      next.fire()
    }
    this.#isRunning = false
  }
}

/** Replaces clock, timers and random numbers of this process until the test ends. @returns sets the clock */
export function replaceTimers(): (clock: Clock) => void {
  let clock = new Clock(async () => {})
  const replace = (owner: object, replacements: object) => {
    const originals = Object.fromEntries(Object.keys(replacements).map((name) => [name, Reflect.get(owner, name)]))
    Object.assign(owner, replacements)
    onTestFinished(() => void Object.assign(owner, originals))
  }
  onTestFinished(syncBuiltinESMExports) // after the others: the last one that is registered runs first
  replace(timersPromises, {
    setTimeout: (ms?: number, _value?: unknown, options?: { signal?: AbortSignal }) => clock.sleep(ms, options?.signal),
    setImmediate: () => clock.sleep(),
  })
  replace(globalThis, {
    setTimeout: (fire: () => void, ms?: number) => clock.add(fire, ms),
    setImmediate: (fire: () => void) => clock.add(fire),
    clearTimeout: (timer?: Timer) => clock.remove(timer),
  })
  replace(performance, { now: () => clock.nowMs })
  replace(Math, { random: () => 0.5 }) // a seed repeats a schedule
  replace(Error, { stackTraceLimit: 0 }) // many errors are thrown, and Vitest maps each stack to its source
  syncBuiltinESMExports()
  return (next) => (clock = next)
}
