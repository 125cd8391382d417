import { setTimeout as sleep } from 'node:timers/promises'
import type { RunStatement } from '../database/statements.ts'
import type { Animal, PetStatus } from '../animals/animal.ts'
import { SELECT_LIST } from '../animals/queries.ts'
import type { RecentAnimals } from './recent.ts'

/** Maximum number of animals that a follower holds: a slow one costs no more. */
const PAGE_SIZE = 100

/** Pause after a failed read of the table, in milliseconds. */
const RETRY_MS = 500

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

/**
 * Follows the feed with a cursor, not with a queue: a follower that is slow or far behind reads what the feed no longer
 * keeps from the table.
 */
export function createFollow({ run, listen, recent, onError }: FollowDependencies) {
  const readTable = createTableReader(run)

  async function readPage(position: bigint, status: PetStatus | undefined): Promise<FollowPage | undefined> {
    const feed = recent()
    if (!feed || position >= feed.end) return undefined
    const animals = feed.after(position, PAGE_SIZE)
    if (!animals) return readTable(position, feed.end, status)
    const end = animals.length < PAGE_SIZE ? feed.end : (animals.at(-1)?.id ?? feed.end)
    return { animals: status ? animals.filter((animal) => animal.status === status) : animals, end }
  }

  return async function* follow(
    after: bigint,
    status: PetStatus | undefined,
    signal: AbortSignal,
  ): AsyncGenerator<Animal[], void> {
    let position = after
    const listener = createListener(signal)
    const stopListening = listen(listener)
    try {
      while (!signal.aborted) {
        listener.reset()
        const page = await readPage(position, status).catch(async (error: unknown) => {
          onError(error)
          await sleep(RETRY_MS, undefined, { signal }).catch(() => {}) // aborted
          return { animals: [], end: position }
        })
        if (!page) {
          await listener.woken
          continue
        }
        if (page.animals.length > 0) yield page.animals
        position = page.end
      }
    } finally {
      stopListening()
    }
  }
}

/** A listener whose promise `woken` resolves when it is woken after the last `reset`, or aborted. */
function createListener(signal: AbortSignal) {
  const listener = {
    wake: () => {},
    woken: Promise.resolve(),
    reset(): void {
      listener.woken = new Promise((resolve) => (listener.wake = resolve))
    },
  }
  signal.addEventListener('abort', () => listener.wake(), { once: true })
  return listener
}

/**
 * Reads settled animals from the table, one page at a time for all followers, so that thousands that resume leave the
 * connections to others. Followers at the same position share a page.
 */
function createTableReader(run: RunStatement) {
  const pending = new Map<string, Promise<FollowPage>>()
  let previous: Promise<unknown> = Promise.resolve()

  async function read(position: bigint, end: bigint, status: PetStatus | undefined): Promise<FollowPage> {
    const animals = status
      ? await run<Animal>(SELECT_SETTLED_WITH_STATUS, [position, end, status])
      : await run<Animal>(SELECT_SETTLED, [position, end])
    return { animals, end: animals.length < PAGE_SIZE ? end : (animals.at(-1)?.id ?? end) }
  }

  return (position: bigint, end: bigint, status: PetStatus | undefined): Promise<FollowPage> => {
    const key = `${status}:${position}`
    const joined = pending.get(key)
    if (joined) return joined
    const page = previous.then(() => read(position, end, status)).finally(() => pending.delete(key))
    pending.set(key, page)
    previous = page.catch(() => {}) // reported to those who wait for it
    return page
  }
}
