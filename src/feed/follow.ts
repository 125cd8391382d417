import { addAbortListener } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { PAGE_SIZE } from '../store/types.ts'
import type { List } from '../store/lists.ts'
import { type Filter, type Item, type Resource, valuesOf } from '../store/resource.ts'
import type { RecentItems } from './recent.ts'
import { createRoundRobin } from './round-robin.ts'
import { tooNewError } from './sequence.ts'

const PAGE_ITEMS = PAGE_SIZE.max

/** Pause after a failed read, in milliseconds. */
export const RETRY_MS = 500

/**
 * Replaced by a new object when the last follower has left, and when the database went back to an older state. Followers
 * compare the current object with the one at their start.
 */
export interface FeedState<R extends Resource> {
  /** The items that the feed has read last; undefined until it knows a settled id. */
  recent?: RecentItems<R>
  /** The newest id after which a stream began. */
  newestPosition: bigint
}

interface FollowedFeed<R extends Resource> {
  state: FeedState<R>
  listen(onNewItems: () => void, after: bigint): () => void
  onError(error: unknown): void
}

/** Follows the feed with a cursor, not with a queue: a follower that is slow or far behind costs no more. */
export function createFollow<R extends Resource>(resource: R, list: List<R>, feed: FollowedFeed<R>) {
  const runInRotation = createRoundRobin() // for clients that are far behind

  async function readPage(recent: RecentItems<R>, position: bigint, filter: Filter<R>) {
    const { end } = recent
    const range = { newerThan: position, olderThan: end + 1n, limit: PAGE_ITEMS }
    const found = recent.after(position, PAGE_ITEMS) ?? (await list({ ...filter, ...range, backward: true }))
    const values = valuesOf(resource, filter)
    const matches = (item: Record<string, unknown>) => values.every(([member, value]) => item[member] === value)
    return { items: found.filter(matches), end: found[PAGE_ITEMS - 1]?.id ?? end } // a full page ends with its last item
  }

  return (after: bigint, filter: Filter<R>, { clientId, signal }: { clientId: bigint; signal: AbortSignal }) => {
    let wake = () => {}
    let rejectTurn = (_reason: unknown) => {}
    const stateAtStart = feed.state
    const stopListening = feed.listen(() => wake(), after)
    addAbortListener(signal, () => {
      stopListening()
      wake()
      rejectTurn(signal.reason)
    })

    async function read(recent: RecentItems<R>, position: bigint) {
      const inMemory = recent.after(position, PAGE_ITEMS)
      if (inMemory && inMemory.length < PAGE_ITEMS) return readPage(recent, position, filter) // less than a page: no turn
      const turn = runInRotation(clientId, async () => {
        signal.throwIfAborted()
        return readPage(recent, position, filter)
      })
      return Promise.race([turn, new Promise<never>((_resolve, reject) => (rejectTurn = reject))])
    }

    return {
      /** `next` returns items above this id. The caller sets it to the id of the last item that it has sent. */
      position: after,
      /** The next items, oldest first, as soon as there are some. @throws when the signal is aborted */
      async next(): Promise<Item<R>[]> {
        for (;;) {
          signal.throwIfAborted()
          if (feed.state !== stateAtStart) throw tooNewError(resource, 'after')
          const { recent } = stateAtStart
          if (!recent || this.position >= recent.end) {
            await new Promise<void>((resolve) => (wake = resolve))
            continue
          }
          try {
            const { items, end } = await read(recent, this.position)
            if (items.length > 0) return items
            this.position = end
          } catch (error) {
            signal.throwIfAborted()
            feed.onError(error)
            await sleep(RETRY_MS, undefined, { signal })
          }
        }
      },
    }
  }
}
