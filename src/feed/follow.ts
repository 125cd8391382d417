import { addAbortListener } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { LRUCache } from 'lru-cache'
import { type Animal, type animals, type PetFilter as Filter, filterKey } from '../pets/animal.ts'
import type { List } from '../store/lists.ts'
import type { RecentAnimals } from './recent.ts'
import { createRoundRobin } from './round-robin.ts'
import { tooNew } from './sequence.ts'

const PAGE_SIZE = 100

/** Pages of the table that are kept for other followers, and for how long: many may resume at the same position. */
const CACHED_PAGES = { max: 2, ttl: 1_000 }

/** Pause after a failed read, in milliseconds. */
export const RETRY_MS = 500

interface FollowOptions extends Filter {
  /** Clients that are far behind take turns. */
  clientId: bigint
  signal: AbortSignal
}

/** Replaced by a new object when the database went back to an older state: followers compare it with theirs. */
export interface FeedState {
  /** The animals that the feed has read last; undefined until it knows a settled id. */
  recent?: RecentAnimals
  /** The newest id after which a stream began. */
  newest: bigint
}

interface FollowDependencies {
  list: List<typeof animals>
  /** Keeps the feed running, and calls the function when there are new animals. @returns a function that ends both */
  listen(onNewAnimals: () => void, after: bigint): () => void
  state(): FeedState
  onError(error: unknown): void
}

interface PageQuery {
  position: bigint
  end: bigint
  filter: Filter
}

interface FollowPage {
  animals: Animal[]
  /** All that match up to this id are on the page or on pages before. */
  end: bigint
}

/** Follows the feed with a cursor, not with a queue: a follower that is slow or far behind costs no more. */
export function createFollow({ list, listen, state, onError }: FollowDependencies) {
  const takeTurn = createRoundRobin()
  const tablePages = new LRUCache<string, FollowPage, PageQuery>({
    ...CACHED_PAGES,
    fetchMethod: (_key, _stale, { context }) => readTable(list, context),
  })

  function readPage(feed: RecentAnimals, position: bigint, filter: Filter) {
    const animals = feed.after(position, PAGE_SIZE)
    if (animals) return { animals: animals.filter((one) => matches(one, filter)), end: endOf(animals, feed.end) }
    const context = { position, end: feed.end, filter }
    return tablePages.forceFetch(`${feed.number}:${filterKey(filter)}:${position}`, { context })
  }

  return (after: bigint, { clientId, signal, ...filter }: FollowOptions) => {
    let wake = () => {}
    const began = state()
    const stopListening = listen(() => wake(), after)
    addAbortListener(signal, () => {
      stopListening()
      wake()
    })

    async function read(feed: RecentAnimals, position: bigint): Promise<FollowPage> {
      const isNear = (feed.after(position, PAGE_SIZE)?.length ?? PAGE_SIZE) < PAGE_SIZE
      if (isNear) return readPage(feed, position, filter)
      return takeTurn(clientId, async () => {
        signal.throwIfAborted()
        return readPage(feed, position, filter)
      })
    }

    return {
      /** `next` returns animals above this id. The caller sets it to the id of the last animal that it has sent. */
      position: after,
      /** The next animals, oldest first, as soon as there are some. @throws the reason of the signal when it is aborted */
      async next(): Promise<Animal[]> {
        for (;;) {
          signal.throwIfAborted()
          if (state() !== began) throw tooNew('after')
          const feed = began.recent
          if (!feed || this.position >= feed.end) {
            await new Promise<void>((resolve) => (wake = resolve))
            continue
          }
          try {
            const { animals, end } = await read(feed, this.position)
            if (animals.length > 0) return animals
            this.position = end
          } catch (error) {
            signal.throwIfAborted()
            onError(error)
            await sleep(RETRY_MS, undefined, { signal })
          }
        }
      },
    }
  }
}

function matches(animal: Animal, { status, categoryId }: Filter): boolean {
  return (
    (status === undefined || animal.status === status) && (categoryId === undefined || animal.categoryId === categoryId)
  )
}

async function readTable(list: List<typeof animals>, { position, end, filter }: PageQuery): Promise<FollowPage> {
  // The query returns one animal more than its limit.
  const animals = await list({
    ...filter,
    newerThan: position,
    olderThan: end + 1n,
    limit: PAGE_SIZE - 1,
    backward: true,
  })
  return { animals, end: endOf(animals, end) }
}

/** @param settledId of what was read; a full page ends before */
function endOf(animals: Animal[], settledId: bigint): bigint {
  return animals.length < PAGE_SIZE ? settledId : (animals.at(-1)?.id ?? settledId)
}
