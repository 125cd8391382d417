import { setTimeout as sleep } from 'node:timers/promises'
import type { ReadRows } from '../database/statements.ts'
import { ApiError } from '../errors.ts'
import type { Resource } from '../store/resource.ts'
import { createWriterWait } from './writers.ts'

/** How long `findSettled` waits for open transactions when it has an earlier result, in milliseconds. */
const MAX_WAIT_WITH_FALLBACK_MS = 250

/** An id up to which every row is visible or will never be, and the history of the database in which it was found. */
interface Settled {
  id: bigint
  history: string
}

/** Finds settled ids, and remembers the last one. */
export function createSettledId(resource: Resource, readRows: ReadRows, maxWaitMs: number) {
  const beginWait = createWriterWait(resource, readRows)
  let state: { last?: Settled; pending?: Promise<Settled> | undefined } = {}

  /** @param fallback an earlier result, which stays settled: it is returned if a transaction takes long */
  async function findSettled(fallback?: Settled): Promise<Settled> {
    const wait = await beginWait()
    const { newest: id, history } = wait
    const usable = fallback?.history === history && fallback.id <= id ? fallback : undefined // none after a restore
    const limitMs = usable ? MAX_WAIT_WITH_FALLBACK_MS : maxWaitMs
    while (!wait.isOver) {
      const { pauseMs } = wait
      if (wait.waitedMs + pauseMs > limitMs) {
        if (usable) return usable
        throw new ApiError('UNAVAILABLE', `A transaction that adds ${resource.name} has not ended. Retry later.`)
      }
      await sleep(pauseMs)
      await wait.update()
    }
    return { id, history }
  }

  return {
    /** Concurrent callers share the result, because a settled id stays settled. */
    async find(): Promise<bigint> {
      const current = state
      current.pending ??= findSettled(current.last)
        .then((found) => (current.last = found))
        .finally(() => (current.pending = undefined))
      return (await current.pending).id
    },
    /** Finds and remembers a newer settled id, or waits for a `find`. A later `find` does not share this search. */
    async refresh(): Promise<void> {
      const current = state
      const { last, pending } = current
      const found = await (pending ?? findSettled(last))
      if (current.last === last) current.last = found
    },
    /** @param last a settled id, greater than those before */
    remember: (last: Settled) => void (state.last = last),
    /** An earlier result, or one that is being found, says nothing about a database that went back to an older state. */
    forget: () => void (state = {}),
  }
}
