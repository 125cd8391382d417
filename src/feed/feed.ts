import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import type { Statements } from '../database/statements.ts'
import { createListQuery } from '../store/lists.ts'
import type { Resource } from '../store/resource.ts'
import type { Observe } from '../telemetry/observation.ts'
import { createFollow, type FeedState, RETRY_MS } from './follow.ts'
import { createGapReader } from './gap-reader.ts'
import type { RecentItems } from './recent.ts'
import { createReadSequence, sequenceProblemOf, type SequenceState, tooNewError } from './sequence.ts'
import { createSettledId } from './settled.ts'

/** The least pause between two reads, in milliseconds, however many items this process adds. */
const MIN_PAUSE_MS = 10

/** For how many milliseconds a turn of the event loop may wake followers: few, since a request takes several turns. */
const WAKE_MS = 2

/** How often the state of the sequence is read, in milliseconds. */
const CHECK_MS = 1_000

export interface FeedStatements {
  /** The loops of all feeds use these in turns, to read new items and the states of the sequences. */
  feedLoopStatements: Statements
  /** These find settled ids, and read pages for streams that are far behind. */
  feedPageStatements: Statements
}

export interface FeedOptions {
  /** How long to wait for transactions to find a settled id, in milliseconds. */
  maxWaitMs: number
  observe: Observe
}

/**
 * New items of a resource, in order of id, without a gap: see docs/decisions/0025-the-table-is-the-log.md. They are read
 * while there are followers, in one loop for all of them.
 */
export class Feed<R extends Resource> {
  readonly follow: ReturnType<typeof createFollow<R>>
  readonly reader: ReturnType<typeof createGapReader<R>>
  /** The state of the sequence, as it was read last. */
  sequence: SequenceState = { last: 0n, highest: 0n, cacheSize: 1n, history: '' }
  /** Whether the last read failed: since then, the database may have gone back to an older state. */
  hasFailed = false
  readonly #resource: R
  readonly #readSequence: ReturnType<typeof createReadSequence>
  readonly #settled: ReturnType<typeof createSettledId>
  readonly onError: (error: unknown) => void
  readonly #followers = new Set<() => void>()
  state: FeedState<R> = { newestPosition: 0n }
  #loop: Promise<void> | undefined
  #checking: Promise<unknown> | undefined
  #history = '' // known after the first read
  #waker = new AbortController()

  constructor(resource: R, { feedLoopStatements, feedPageStatements }: FeedStatements, options: FeedOptions) {
    this.reader = createGapReader(resource, feedLoopStatements.readRows)
    this.#settled = createSettledId(resource, feedPageStatements.readRows, options.maxWaitMs)
    this.#resource = resource
    this.#readSequence = createReadSequence(resource, feedLoopStatements.readRows, (state) => {
      this.sequence = state
      const problem = sequenceProblemOf(resource, state)
      options.observe({ type: 'sequence-read', resource: resource.name, lagMs: this.reader.lagMs(), problem })
    })
    this.onError = (error) => options.observe({ type: 'feed-failed', resource: resource.name, error })
    this.follow = createFollow(resource, createListQuery(resource, feedPageStatements), this)
  }

  /**
   * A settled id: every item up to it is visible, or will never be. A page that is read after the call and `follow` from
   * this id together miss no item.
   */
  async settledId(): Promise<bigint> {
    return (this.hasFailed ? undefined : this.state.recent?.end) ?? this.#settled.find()
  }

  /**
   * @param bound `last` for a stream: from a position above the last id of the sequence, it would miss the ids that the
   *   sequence gives next. `highest` for a page, which is read from the table
   * @throws ApiError INVALID_ARGUMENT, which names the argument, for a position above the bound
   */
  async requireAssigned(position: bigint, argument: string, bound: 'last' | 'highest'): Promise<void> {
    if (position > (await this.#readSequence())[bound]) throw tooNewError(this.#resource, argument)
  }

  /**
   * Reads the state of the sequence and a settled id, unless a loop reads them for streams. A stream that begins while a
   * transaction is open may begin after this id. Failures are ignored: the probe reports its own. Callers share a check.
   */
  async check(): Promise<void> {
    const check = async () => {
      // One after the other, so that both take one connection.
      await this.#readSequence().catch(() => {})
      await this.#settled.refresh().catch(() => {})
    }
    if (!this.#loop) await (this.#checking ??= check().finally(() => (this.#checking = undefined)))
  }

  /** Reads at once, because this process has added an item. */
  wake(): void {
    this.#waker.abort()
  }

  async stop(): Promise<void> {
    this.#followers.clear()
    this.wake()
    await this.#loop
  }

  /** Keeps the feed running, and calls the function when there are new items. @returns a function that ends both */
  listen(onNewItems: () => void, after: bigint): () => void {
    this.#followers.add(onNewItems)
    if (after > this.state.newestPosition) this.state.newestPosition = after
    this.#loop ??= this.#readWhileFollowed()
    return () => void this.#followers.delete(onNewItems)
  }

  async #readWhileFollowed(): Promise<void> {
    while (this.#followers.size > 0) {
      try {
        if (await this.#wentBack()) this.#forget() // ends all streams; the cursors of new ones are checked
        this.hasFailed = false
        this.state.recent ??= await this.reader.begin(await this.#settled.find())
        await this.#readUntilCheck(this.state.recent)
      } catch (error) {
        this.hasFailed = true // perhaps in a failover or a restore
        this.onError(error)
        this.reader.reset() // a gap from before a restore may be above all ids of the restored state
        await this.#pause(RETRY_MS, MIN_PAUSE_MS)
      }
    }
    this.#forget()
    this.#loop = undefined
  }

  #forget(): void {
    this.hasFailed = false
    this.state = { newestPosition: 0n }
    this.reader.reset()
  }

  /**
   * Whether the database went back to an older state: the sequence is below an id that a client has or the feed has read, or
   * the newest items differ from those that the feed has read. They are compared after a failed read, and in another history.
   * So an update or a deletion of one of them by SQL looks like an older state, too.
   */
  async #wentBack(): Promise<boolean> {
    const { recent, newestPosition } = this.state // taken before the read, because a stream may begin meanwhile
    const { last, history } = await this.#readSequence()
    const isOlder = last < newestPosition || last < (recent?.end ?? 0n)
    const mayBeOlder = this.hasFailed || history !== this.#history
    this.#history = history // set before the comparison: if that throws, hasFailed repeats it
    if (!isOlder && (!mayBeOlder || (await this.reader.isCurrent(recent)))) return false
    this.#settled.forget()
    return true
  }

  /** Reads for CHECK_MS while there are followers, and wakes them when there are new items. @throws the error of a read */
  async #readUntilCheck(recent: RecentItems<R>): Promise<void> {
    const checkAtMs = performance.now() + CHECK_MS
    while (this.#followers.size > 0 && performance.now() < checkAtMs) {
      let [pauseMs, wakeMs] = [0, 0]
      try {
        pauseMs = await this.reader.read(recent)
      } finally {
        // The reader may have read some items before it failed.
        if (recent.end !== recent.announced) wakeMs = await wakeAll(this.#followers)
        recent.announced = recent.end
      }
      this.#settled.remember({ id: recent.end, history: this.#history })
      // Reading pauses for as long as waking took, so that half of the time is left to requests.
      const leastMs = Math.max(wakeMs, pauseMs > 0 ? MIN_PAUSE_MS : 0)
      // In a gap, `wake` does not end the pause: an item that this process adds does not close the gap.
      await (this.reader.lagMs() > 0 ? sleep(Math.max(pauseMs, leastMs)) : this.#pause(pauseMs, leastMs))
    }
  }

  /** Sleeps for `ms` or until `wake`, but for at least `leastMs`. A call of `wake` since the last pause counts, too. */
  async #pause(ms: number, leastMs: number): Promise<void> {
    await sleep(leastMs)
    await sleep(Math.max(0, ms - leastMs), undefined, { signal: this.#waker.signal }).catch(() => {}) // woken
    this.#waker = new AbortController()
  }
}

/** Wakes some followers at a time, so that requests wait for a few of them only. @returns how long it took */
async function wakeAll(followers: Set<() => void>): Promise<number> {
  const beganAtMs = performance.now()
  let turnBeganAtMs = beganAtMs
  for (const wake of [...followers]) {
    wake()
    await undefined // what the follower does, in microtasks, is part of the turn
    if (performance.now() - turnBeganAtMs < WAKE_MS) continue
    await nextTurn()
    turnBeganAtMs = performance.now()
  }
  return performance.now() - beganAtMs
}
