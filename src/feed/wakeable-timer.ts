import { setTimeout as sleep } from 'node:timers/promises'

/** A timer that can be ended early. */
export function createWakeableTimer() {
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
    /** @param ms how long, unless it is woken @param leastMs not less than this */
    async pause(ms: number, leastMs: number): Promise<void> {
      if (leastMs > 0) await sleep(leastMs)
      if (ms > leastMs && !woken) await wakeable(ms - leastMs)
      woken = false
    },
  }
}
