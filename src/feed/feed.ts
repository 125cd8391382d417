import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import { createList } from '../store/lists.ts'
import type { RunStatement, Statements } from '../database/statements.ts'
import type { Resource } from '../store/resource.ts'
import type { Observe } from '../telemetry/observation.ts'
import { createFollow, type FeedState, RETRY_MS } from './follow.ts'
import { createGapReader } from './gap-reader.ts'
import type { RecentItems } from './recent.ts'
import { createSequence, sequenceProblemOf } from './sequence.ts'
import { createSettledId, createWriterReads } from './settled.ts'

/** The least pause between two reads, in milliseconds, however many items this process adds. */
const MIN_PAUSE_MS = 10

/** How long followers are woken in one turn of the event loop, in milliseconds: a request waits for several turns. */
const WAKE_MS = 2

/** How often the state of the sequence is read, in milliseconds. */
const CHECK_MS = 1_000

/** What the loop reads, it reads in its turn. */
type FeedStatements = Statements & { runInTurn?: RunStatement }

export interface FeedOptions {
  /** How long to wait for transactions to find a settled id, in milliseconds. */
  maxWaitMs: number
  observe: Observe
}

export type Feed<R extends Resource> = ReturnType<typeof createFeed<R>>

/**
 * New items of a resource, in order of id, without a gap: see docs/decisions/0025-the-table-is-the-log.md. They are read
 * while there are followers, in one loop for all of them.
 */
export function createFeed<R extends Resource>(resource: R, statements: FeedStatements, options: FeedOptions) {
  const reading = createReading(resource, statements, options)
  const onError = (error: unknown) => options.observe({ type: 'feed-failed', resource: resource.name, error })
  const { followers, reader, settled, sequence, pause, wake } = reading
  let state: FeedState<R> = { newest: 0n }
  let loop: Promise<void> | undefined
  let hasFailed = false // since a read failed, the database may have gone back

  async function readWhileFollowed(): Promise<void> {
    while (followers.size > 0) {
      try {
        // If the state is older, all streams end; new ones have their cursors checked. A position may come while it is read.
        if (await wentBack({ ...state }, reading, hasFailed)) forget()
        hasFailed = false
        state.recent ??= await reader.begin(await settled.find())
        await readUntilCheck(state.recent, reading)
      } catch (error) {
        hasFailed = true // as in a failover or a restore
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

  function listen(onNewItems: () => void, after: bigint): () => void {
    followers.add(onNewItems)
    if (after > state.newest) state.newest = after
    loop ??= readWhileFollowed()
    return () => void followers.delete(onNewItems)
  }

  return {
    /**
     * A settled id: every item up to it is visible, or will never be. A page that is read later and `follow` from this
     * id miss nothing between them.
     */
    settledId: async () => (hasFailed ? undefined : state.recent?.end) ?? settled.find(),
    requireAssigned: sequence.requireAssigned,
    follow: createFollow(resource, { list: createList(resource, statements), listen, state: () => state, onError }),
    /** Reads the state of the sequence, unless streams are open, which do it once a second. */
    checkSequence: () => void (loop ?? sequence.read().catch(() => {})), // the failure of a probe has its own reason
    /** Reads at once, because this process has added an item. */
    wake,
    reader,
    sequence: sequence.state,
    async stop() {
      followers.clear()
      wake()
      await loop
    },
  }
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

/**
 * Whether the database went back to an older state: it never assigned what clients have or the feed has read, or it has
 * other items, which are compared after a failed read and in another history. What was settled is forgotten, too.
 */
async function wentBack<R extends Resource>(
  state: FeedState<R>,
  reading: Reading<R>,
  hasFailed: boolean,
): Promise<boolean> {
  const { recent, newest } = state
  const { last, history } = await reading.sequence.read()
  const isOlder = last < newest || last < (recent?.end ?? 0n)
  const mayBeOlder = hasFailed || history !== reading.history
  reading.history = history // a comparison that fails is repeated, as after every failed read
  if (!isOlder && (!mayBeOlder || (await reading.reader.isCurrent(recent)))) return false
  reading.settled.forget()
  return true
}

type Reading<R extends Resource> = ReturnType<typeof createReading<R>>

function createReading<R extends Resource>(
  resource: R,
  statements: FeedStatements,
  { maxWaitMs, observe }: FeedOptions,
) {
  const { run, runInTurn = run, batch } = statements
  const reader = createGapReader(resource, runInTurn)
  return {
    followers: new Set<() => void>(),
    reader,
    settled: createSettledId(resource, createWriterReads(resource, run), maxWaitMs),
    sequence: createSequence(resource, batch, (state) =>
      observe({
        type: 'sequence-read',
        resource: resource.name,
        lagMs: reader.lagMs(),
        problem: sequenceProblemOf(resource, state),
      }),
    ),
    history: '', // known after the first read
    ...createPause(),
  }
}

/** Reads for CHECK_MS while there are followers, and wakes them when there are new items. @throws the error of a read */
async function readUntilCheck<R extends Resource>(recent: RecentItems<R>, reading: Reading<R>): Promise<void> {
  const { followers, reader, settled, history, pause } = reading
  const checkAtMs = performance.now() + CHECK_MS
  while (followers.size > 0 && performance.now() < checkAtMs) {
    let wakeMs = 0
    const pauseMs = await reader.read(recent).finally(async () => {
      // It may have read some before it failed.
      if (recent.end !== recent.announced) wakeMs = await wakeAll(followers)
      recent.announced = recent.end
    })
    settled.remember({ id: recent.end, history })
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
