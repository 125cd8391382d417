import { setTimeout as sleep } from 'node:timers/promises'
import { context, ROOT_CONTEXT } from '@opentelemetry/api'
import type { Pool } from 'pg'
import { createRunStatement } from '../database/statements.ts'
import type { Animal, PetStatus } from './animal.ts'
import { createFollow, type Listener } from './follow.ts'
import { createGapReader, type GapReader } from './gap-reader.ts'
import { RecentAnimals } from './recent.ts'
import type { Animals } from './service.ts'
import { createSettledId } from './settled.ts'
import { createWakeableTimer } from './wakeable-timer.ts'

/** The least pause between two reads, in milliseconds, however many animals this process adds. */
const MIN_PAUSE_MS = 10

/** Pause after a failed read, in milliseconds. */
const RETRY_MS = 500

/** New animals, in order of id, without a gap: see docs/decisions/0025-the-table-is-the-log.md. */
export interface Feed {
  /**
   * A settled id: every animal up to it is visible, or will never be. A page that is read later and `follow` from this
   * id miss nothing between them.
   */
  settledId(): Promise<bigint>
  /** Animals above an id, those to come included, oldest first; ends when the signal is aborted. */
  follow(after: bigint, status: PetStatus | undefined, signal: AbortSignal): AsyncGenerator<Animal, void>
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
  const timer = createWakeableTimer(MIN_PAUSE_MS)
  /** Undefined without listeners, and until the first settled id is known. */
  let recent: RecentAnimals | undefined
  let loop: Promise<void> | undefined

  async function readWhileFollowed(): Promise<void> {
    while (listeners.size > 0) {
      try {
        recent ??= new RecentAnimals(await settled.find())
        const pauseMs = await reader.read(recent).finally(announce) // it may have read some before it failed
        // A gap is not closed sooner by what this process adds.
        await (reader.lagMs() ? sleep(pauseMs) : timer.pause(pauseMs))
      } catch (error) {
        onError(error)
        await timer.pause(RETRY_MS)
      }
    }
    recent = undefined
    loop = undefined
    reader.reset()
  }

  function announce(): void {
    if (recent && listeners.wake(recent.end)) settled.remember(recent.end)
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
    wake: timer.wake,
    reader,
    async stop() {
      listeners.clear()
      timer.wake()
      await loop
    },
  }
}

/** The operations on animals, with the feed woken by each create, also by one that may have been executed. */
export function wakeAfterCreate(animals: Animals, { wake }: Feed): Animals {
  return { ...animals, create: (...args) => animals.create(...args).finally(wake) }
}

/** The followers of the feed. */
function createListeners() {
  const all = new Set<Listener>()
  /** The end of the feed when they were last woken. */
  let known: bigint | undefined
  return {
    get size() {
      return all.size
    },
    add: (listener: Listener) => void all.add(listener),
    delete(listener: Listener): void {
      all.delete(listener)
      if (all.size === 0) known = undefined
    },
    clear: () => all.clear(),
    /** Wakes all if the feed has advanced. @param end where it ends @returns whether it has advanced */
    wake(end: bigint): boolean {
      if (end === known) return false
      known = end
      for (const { wake } of all) wake()
      return true
    },
  }
}
