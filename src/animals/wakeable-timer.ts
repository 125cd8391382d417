import { setTimeout as sleep } from 'node:timers/promises'

/** A timer that can be ended early. @param minPauseMs but not sooner than this, in milliseconds */
export function createWakeableTimer(minPauseMs: number) {
  let woken = false
  let end = () => {}

  function wakeable(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timeout = setTimeout(resolve, ms)
      end = () => {
        clearTimeout(timeout)
        resolve()
      }
    })
  }

  return {
    wake(): void {
      woken = true
      end()
    },
    async pause(ms: number): Promise<void> {
      if (ms > 0) await sleep(minPauseMs)
      if (ms > minPauseMs && !woken) await wakeable(ms - minPauseMs)
      woken = false
    },
  }
}
