import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import { context, ROOT_CONTEXT } from '@opentelemetry/api'
import type { Pool } from 'pg'
import { createRunStatement } from '../database/statements.ts'
import { createFollow, type Follower, type FollowOptions, type Listener } from './follow.ts'
import { createGapReader, type GapReader } from './gap-reader.ts'
import { RecentAnimals } from './recent.ts'
import type { Animals } from '../animals/service.ts'
import { createSettledId } from './settled.ts'

/** The least pause between two reads, in milliseconds, however many animals this process adds. */
const MIN_PAUSE_MS = 10

/** How many followers are woken in one turn of the event loop. */
const WAKE_SIZE = 100

/** Pause after a failed read, in milliseconds. */
const RETRY_MS = 500

/** New animals, in order of id, without a gap: see docs/decisions/0025-the-table-is-the-log.md. */
export interface Feed {
  /**
   * A settled id: every animal up to it is visible, or will never be. A page that is read later and `follow` from this
   * id miss nothing between them.
   */
  settledId(): Promise<bigint>
  /** Follows the feed after an id. */
  follow(after: bigint, options: FollowOptions): Follower
  /** Reads at once: this process has added an animal. */
  wake(): void
  /** The state of the feed, for metrics. */
  readonly reader: Pick<GapReader, 'gapWaits' | 'lagMs'>
  stop(): Promise<void>
}

interface FeedOptions {
  /** How long to wait for transactions to find a settled id, in milliseconds. */
  maxWaitMs: number
  /** Called for each read that failed, which is repeated. */
  onError(error: unknown): void
}

/** Reads new animals while there are followers, in one loop for all of them: the table is the log. */
export function createFeed(pool: Pool, { maxWaitMs, onError }: FeedOptions): Feed {
  const run = createRunStatement(pool)
  const reader = createGapReader(run)
  const settled = createSettledId(run, maxWaitMs)
  const listeners = createListeners()
  const { pause, wake } = createPause()
  /** Undefined without listeners, and until the first settled id is known. */
  let recent: RecentAnimals | undefined
  let loop: Promise<void> | undefined

  async function readWhileFollowed(): Promise<void> {
    while (listeners.size > 0) {
      try {
        const animals = (recent ??= new RecentAnimals(await settled.find()))
        // It may have read some before it failed.
        const pauseMs = await reader.read(animals).finally(() => listeners.wake(animals.end))
        settled.remember(animals.end)
        const leastMs = Math.max(listeners.wakeMs, pauseMs && MIN_PAUSE_MS)
        // A gap is not closed sooner by what this process adds.
        await (reader.lagMs() ? sleep(Math.max(pauseMs, leastMs)) : pause(pauseMs, leastMs))
      } catch (error) {
        onError(error)
        await pause(RETRY_MS, MIN_PAUSE_MS)
      }
    }
    recent = undefined
    loop = undefined
    reader.reset()
    listeners.reset()
  }

  function listen(listener: Listener): () => void {
    listeners.add(listener)
    // Outside the context of the request: its span is not the parent of the statements.
    loop ??= context.with(ROOT_CONTEXT, readWhileFollowed)
    return () => listeners.delete(listener)
  }

  return {
    settledId: async () => recent?.end ?? settled.find(),
    follow: createFollow({ run, listen, recent: () => recent, onError }),
    wake,
    reader,
    async stop() {
      listeners.clear()
      wake()
      await loop
    },
  }
}

/** The operations on animals, with the feed woken by each create, also by one that may have been executed. */
export function wakeAfterCreate(animals: Animals, { wake }: Feed): Animals {
  return { ...animals, create: (...args) => animals.create(...args).finally(wake) }
}

/** A pause that can be ended early. */
function createPause() {
  let waker = new AbortController()
  return {
    wake: () => waker.abort(),
    /** @param ms how long, unless it is woken, also before it begins @param leastMs not less than this */
    async pause(ms: number, leastMs: number): Promise<void> {
      await sleep(leastMs)
      await sleep(ms - leastMs, undefined, { signal: waker.signal }).catch(() => {}) // woken
      waker = new AbortController()
    },
  }
}

/** The followers of the feed. */
function createListeners() {
  const all = new Set<Listener>()
  /** The end of the feed when they were last woken. */
  let known: bigint | undefined
  let wakeMs = 0
  return {
    get size() {
      return all.size
    },
    /** How long the last `wake` took. The feed pauses as long, so that half of the time is left to requests. */
    get wakeMs() {
      return wakeMs
    },
    add: (listener: Listener) => void all.add(listener),
    delete: (listener: Listener) => void all.delete(listener),
    clear: () => all.clear(),
    /** The next `wake` wakes all, wherever the feed is. */
    reset: () => void (known = undefined),
    /** Wakes all if the feed has advanced, some at a time, so that requests wait for a few of them only. */
    async wake(end: bigint): Promise<void> {
      wakeMs = 0
      if (end === known) return
      known = end
      const sinceMs = performance.now()
      const waiting = [...all]
      for (let n = 0; n < waiting.length; n += WAKE_SIZE) {
        for (const { wake } of waiting.slice(n, n + WAKE_SIZE)) wake()
        await nextTurn()
      }
      wakeMs = performance.now() - sinceMs
    },
  }
}
