import { setTimeout as sleep } from 'node:timers/promises'

export interface Load {
  /** Stops, and waits for the actions that are running. @returns for how many seconds actions were started */
  stop(): Promise<number>
}

/** Acts at a steady rate per second, without waiting for the previous actions (an open workload), until it is stopped. */
export function startLoad(rate: number, act: (n: number) => Promise<void>): Load {
  const open = new Set<Promise<void>>()
  const stopping = new AbortController()
  async function run(): Promise<number> {
    const startedAt = performance.now()
    let started = 0
    while (!stopping.signal.aborted) {
      for (; started < ((performance.now() - startedAt) * rate) / 1_000; started++) {
        const acting: Promise<void> = act(started).finally(() => open.delete(acting))
        open.add(acting)
      }
      await sleep(5)
    }
    const seconds = (performance.now() - startedAt) / 1_000
    await Promise.all(open)
    return seconds
  }
  const running = run()
  return {
    stop() {
      stopping.abort()
      return running
    },
  }
}
