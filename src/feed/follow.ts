import { addAbortListener } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { LRUCache } from 'lru-cache'
import type { Animal, PetStatus } from '../animals/animal.ts'
import { SELECT_LIST } from '../animals/queries.ts'
import type { RunStatement } from '../database/statements.ts'
import type { RecentAnimals } from './recent.ts'
import { createTurns } from './turns.ts'

/** Maximum number of animals that are read for a follower at a time. */
const PAGE_SIZE = 100

/** Pages of the table that are kept for other followers, and for how long: many may resume at the same position. */
const CACHED_PAGES = { max: 2, ttl: 1_000 }

/** Pause after a failed read of the table, in milliseconds. */
const RETRY_MS = 500

/** Follows the feed with a cursor, not with a queue: a follower that is slow or far behind costs no more. */
export interface Follower {
  /** `next` continues after this id: set it to that of each animal that needs not be read again. */
  position: bigint
  /** The next animals, oldest first, as soon as there are some. @throws the reason of the signal when it is aborted */
  next(): Promise<Animal[]>
}

export interface FollowOptions {
  status?: PetStatus | undefined
  /** Clients that are far behind take turns. */
  clientId: bigint
  /** Ends it. */
  signal: AbortSignal
}

/** Called when there are new animals. */
export interface Listener {
  wake(): void
}

interface FollowDependencies {
  run: RunStatement
  /** Keeps the feed running. @returns ends that */
  listen(listener: Listener): () => void
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

/** @returns begins to follow the feed after an id */
export function createFollow({ run, listen, recent, onError }: FollowDependencies) {
  const takeTurn = createTurns()
  const readPage = createReadPage(run)

  return (after: bigint, { status, clientId, signal }: FollowOptions): Follower => {
    const listener: Listener = { wake() {} }
    const stopListening = listen(listener)
    addAbortListener(signal, () => {
      stopListening()
      listener.wake()
    })

    async function read(feed: RecentAnimals, position: bigint): Promise<FollowPage> {
      if (feed.isWithin(position, PAGE_SIZE)) return readPage(feed, position, status)
      return takeTurn(clientId, async () => {
        signal.throwIfAborted()
        return readPage(feed, position, status)
      })
    }

    const follower: Follower = {
      position: after,
      async next() {
        for (;;) {
          signal.throwIfAborted()
          const feed = recent()
          if (!feed || follower.position >= feed.end) {
            await new Promise<void>((resolve) => (listener.wake = resolve))
            continue
          }
          try {
            const { animals, end } = await read(feed, follower.position)
            if (animals.length > 0) return animals
            follower.position = end
          } catch (error) {
            signal.throwIfAborted()
            onError(error)
            await sleep(RETRY_MS, undefined, { signal })
          }
        }
      },
    }
    return follower
  }
}

/** @returns reads a page of what the feed keeps, or else of the table */
function createReadPage(run: RunStatement) {
  const tablePages = new LRUCache<string, FollowPage, PageQuery>({
    ...CACHED_PAGES,
    fetchMethod: (_key, _stale, { context }) => readTable(run, context),
  })
  return async (feed: RecentAnimals, position: bigint, status: PetStatus | undefined): Promise<FollowPage> => {
    const animals = feed.after(position, PAGE_SIZE)
    if (animals)
      return { animals: animals.filter((one) => !status || one.status === status), end: endOf(animals, feed) }
    return tablePages.forceFetch(`${status}:${position}`, { context: { position, end: feed.end, status } })
  }
}

async function readTable(run: RunStatement, { position, end, status }: PageQuery): Promise<FollowPage> {
  const animals = status
    ? await run<Animal>(SELECT_SETTLED_WITH_STATUS, [position, end, status])
    : await run<Animal>(SELECT_SETTLED, [position, end])
  return { animals, end: endOf(animals, { end }) }
}

/** @param settled of what was read; a full page ends before */
function endOf(animals: Animal[], settled: { end: bigint }): bigint {
  return animals.length < PAGE_SIZE ? settled.end : (animals.at(-1)?.id ?? settled.end)
}
