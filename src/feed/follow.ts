import { addAbortListener } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { LRUCache } from 'lru-cache'
import type { Animal, PetStatus } from '../animals/animal.ts'
import { SELECT_LIST } from '../animals/queries.ts'
import type { RunStatement } from '../database/statements.ts'
import type { RecentAnimals } from './recent.ts'
import { createTurns } from './turns.ts'

const PAGE_SIZE = 100

/** Pages of the table that are kept for other followers, and for how long: many may resume at the same position. */
const CACHED_PAGES = { max: 2, ttl: 1_000 }

/** Pause after a failed read, in milliseconds. */
export const RETRY_MS = 500

interface FollowOptions {
  status?: PetStatus | undefined
  /** Clients that are far behind take turns. */
  clientId: bigint
  signal: AbortSignal
}

interface FollowDependencies {
  run: RunStatement
  /** Keeps the feed running, and calls the function when there are new animals. @returns ends that */
  listen(onNewAnimals: () => void): () => void
  /** The animals that the feed has read last; undefined until it knows a settled id. */
  recent(): RecentAnimals | undefined
  onError(error: unknown): void
}

interface PageQuery {
  position: bigint
  /** A settled id. */
  end: bigint
  status: PetStatus | undefined
}

interface FollowPage {
  animals: Animal[]
  /** All that match up to this id are on the page or on pages before. */
  end: bigint
}

const SELECT_SETTLED = `SELECT ${SELECT_LIST} FROM "public"."animal"
  WHERE id > $1 AND id <= $2 ORDER BY id LIMIT ${PAGE_SIZE}`
/** Only the index on (status, id) has this order, so a rare status does not walk along the primary key. */
const SELECT_SETTLED_WITH_STATUS = `SELECT ${SELECT_LIST} FROM "public"."animal"
  WHERE (status, id) > ($3::pet_status, $1) AND (status, id) <= ($3::pet_status, $2)
  ORDER BY status, id LIMIT ${PAGE_SIZE}`

/** Follows the feed with a cursor, not with a queue: a follower that is slow or far behind costs no more. */
export function createFollow({ run, listen, recent, onError }: FollowDependencies) {
  const takeTurn = createTurns()
  const tablePages = new LRUCache<string, FollowPage, PageQuery>({
    ...CACHED_PAGES,
    fetchMethod: (_key, _stale, { context }) => readTable(run, context),
  })

  function readPage(feed: RecentAnimals, position: bigint, status: PetStatus | undefined) {
    const animals = feed.after(position, PAGE_SIZE)
    if (!animals)
      return tablePages.forceFetch(`${status}:${position}`, { context: { position, end: feed.end, status } })
    return { animals: animals.filter((one) => !status || one.status === status), end: endOf(animals, feed.end) }
  }

  return (after: bigint, { status, clientId, signal }: FollowOptions) => {
    let wake = () => {}
    const stopListening = listen(() => wake())
    addAbortListener(signal, () => {
      stopListening()
      wake()
    })

    async function read(feed: RecentAnimals, position: bigint): Promise<FollowPage> {
      const isNear = (feed.after(position, PAGE_SIZE)?.length ?? PAGE_SIZE) < PAGE_SIZE
      if (isNear) return readPage(feed, position, status)
      return takeTurn(clientId, async () => {
        signal.throwIfAborted()
        return readPage(feed, position, status)
      })
    }

    return {
      /** `next` continues after this id: set it to that of each animal that needs not be read again. */
      position: after,
      /** The next animals, oldest first, as soon as there are some. @throws the reason of the signal when it is aborted */
      async next(): Promise<Animal[]> {
        for (;;) {
          signal.throwIfAborted()
          const feed = recent()
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

async function readTable(run: RunStatement, { position, end, status }: PageQuery): Promise<FollowPage> {
  const animals = status
    ? await run<Animal>(SELECT_SETTLED_WITH_STATUS, [position, end, status])
    : await run<Animal>(SELECT_SETTLED, [position, end])
  return { animals, end: endOf(animals, end) }
}

/** @param settledId of what was read; a full page ends before */
function endOf(animals: Animal[], settledId: bigint): bigint {
  return animals.length < PAGE_SIZE ? settledId : (animals.at(-1)?.id ?? settledId)
}
