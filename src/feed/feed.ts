import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import { context, ROOT_CONTEXT } from '@opentelemetry/api'
import { createList } from '../animals/lists.ts'
import type { Animals } from '../animals/service.ts'
import { createRunStatement, createStatements, type Pool } from '../database/statements.ts'
import { createRequireAssigned, readHighestAssignedId } from './assigned-ids.ts'
import { createFollow, type FeedState, RETRY_MS } from './follow.ts'
import { createGapReader } from './gap-reader.ts'
import { RecentAnimals } from './recent.ts'
import { createSettledId } from './settled.ts'

/** The least pause between two reads, in milliseconds, however many animals this process adds. */
const MIN_PAUSE_MS = 10

/** How long followers are woken in one turn of the event loop, in milliseconds: a request waits for several turns. */
const WAKE_MS = 2

interface FeedOptions {
  /** How long to wait for transactions to find a settled id, in milliseconds. */
  maxWaitMs: number
  /** Called for each read that failed, which is repeated. */
  onError(error: unknown): void
}

export type Feed = ReturnType<typeof createFeed>

/**
 * New animals, in order of id, without a gap: see docs/decisions/0025-the-table-is-the-log.md. They are read while there
 * are followers, in one loop for all of them.
 */
export function createFeed(pool: Pool, { maxWaitMs, onError }: FeedOptions) {
  const run = createRunStatement(pool)
  const reader = createGapReader(run)
  const settled = createSettledId(run, maxWaitMs)
  const followers = new Set<() => void>()
  const { pause, wake } = createPause()
  let state: FeedState = { newest: 0n }
  let loop: Promise<void> | undefined

  async function readWhileFollowed(): Promise<void> {
    while (followers.size > 0) {
      try {
        // A failover or a restore ends reads. If the state is older, all streams end; new ones have their cursors checked.
        const highest = await readHighestAssignedId(run)
        if (highest < state.newest || highest < (state.recent?.end ?? 0n)) forget()
        state.recent ??= new RecentAnimals(await settled.find())
        await readUntilFailure(state.recent, { followers, reader, settled, pause })
      } catch (error) {
        onError(error)
        reader.reset() // a gap of an older state may be above all ids of the restored one
        await pause(RETRY_MS, MIN_PAUSE_MS)
      }
    }
    forget()
    loop = undefined
  }

  function forget(): void {
    state = { newest: 0n }
    reader.reset()
  }

  function listen(onNewAnimals: () => void, after: bigint): () => void {
    followers.add(onNewAnimals)
    if (after > state.newest) state.newest = after
    // Outside the context of the request: its span is not the parent of the statements.
    loop ??= context.with(ROOT_CONTEXT, readWhileFollowed)
    return () => void followers.delete(onNewAnimals)
  }

  return {
    /**
     * A settled id: every animal up to it is visible, or will never be. A page that is read later and `follow` from this
     * id miss nothing between them.
     */
    settledId: async () => state.recent?.end ?? settled.find(),
    requireAssigned: createRequireAssigned(run),
    follow: createFollow({ list: createList(createStatements(pool)), listen, state: () => state, onError }),
    /** Reads at once, because this process has added an animal. */
    wake,
    reader,
    async stop() {
      followers.clear()
      wake()
      await loop
    },
  }
}

/** The operations on animals. Each create wakes the feed, even if it failed: it may have been executed. */
export function wakeAfterCreate(animals: Animals, { wake }: Feed): Animals {
  return { ...animals, create: (...args) => animals.create(...args).finally(wake) }
}

function createPause() {
  let waker = new AbortController()
  return {
    wake: () => waker.abort(),
    /** Sleeps `ms`, or until `wake`, which may have been called before, but at least `leastMs`. */
    async pause(ms: number, leastMs: number): Promise<void> {
      await sleep(leastMs)
      await sleep(Math.max(0, ms - leastMs), undefined, { signal: waker.signal }).catch(() => {}) // woken
      waker = new AbortController()
    },
  }
}

interface Reading {
  followers: Set<() => void>
  reader: ReturnType<typeof createGapReader>
  settled: ReturnType<typeof createSettledId>
  pause: ReturnType<typeof createPause>['pause']
}

/** Reads while there are followers, and wakes them when there are new animals. @throws the error of a read */
async function readUntilFailure(animals: RecentAnimals, { followers, reader, settled, pause }: Reading): Promise<void> {
  let known: bigint | undefined
  while (followers.size > 0) {
    let wakeMs = 0
    const pauseMs = await reader.read(animals).finally(async () => {
      // It may have read some before it failed.
      if (animals.end !== known) wakeMs = await wakeAll(followers)
      known = animals.end
    })
    settled.remember(animals.end)
    // Reading pauses for as long as waking took, so that half of the time is left to requests.
    const leastMs = Math.max(wakeMs, pauseMs && MIN_PAUSE_MS)
    // A gap is not closed sooner by what this process adds.
    await (reader.lagMs() ? sleep(Math.max(pauseMs, leastMs)) : pause(pauseMs, leastMs))
  }
}

/** Wakes some followers at a time, so that requests wait for a few of them only. @returns how long it took */
async function wakeAll(followers: Set<() => void>): Promise<number> {
  const sinceMs = performance.now()
  let turnMs = sinceMs
  for (const wake of [...followers]) {
    wake()
    await undefined // what the follower does, in microtasks, is part of the turn
    if (performance.now() - turnMs < WAKE_MS) continue
    await nextTurn()
    turnMs = performance.now()
  }
  return performance.now() - sinceMs
}
