import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import { Batcher } from './batcher.ts'
import { reasonOf } from './errors.ts'
import type { Pool } from './pool.ts'
import { prepared } from './prepared.ts'

/** How long a read may wait for a replica, in milliseconds, before it is executed on the primary. */
const MAX_WAIT_MS = 20

/** How long a read may take on a replica, in milliseconds, before it is executed on the primary, too. */
const MAX_READ_MS = 500

/** Pause between two looks at a replica that has not replayed enough, in milliseconds. */
const POLL_MS = 2

/**
 * How long a replica is left out before it is tried again, in milliseconds: first MIN_REST_MS, because a busy event loop
 * looks like a slow replica, then twice as long each time until it has executed a read.
 */
const MIN_REST_MS = 20
const MAX_REST_MS = 1_000

/**
 * The end of the WAL that the primary has written to disk: each commit that it has acknowledged is before it. Not so with
 * synchronous_commit = off. WAL positions are numbers of bytes. A position says nothing about another history: that of
 * another server, or of a timeline that ended when a standby was promoted.
 */
const READ_PRIMARY = `
  SELECT pg_wal_lsn_diff(pg_current_wal_flush_lsn(), '0/0')::text AS position,
    ('x' || left(pg_walfile_name(pg_current_wal_flush_lsn()), 8))::bit(32)::int AS timeline,
    (SELECT system_identifier FROM pg_control_system())::text AS system, current_database() AS database,
    current_setting('synchronous_commit') <> 'off' AS is_durable`

/**
 * A statement of its own: the snapshot of a statement is older than the values of its functions. The timeline that a
 * standby receives is a secret without the role pg_read_all_stats; that of its last restartpoint may be an older one.
 */
const READ_REPLICA = `
  SELECT pg_is_in_recovery() AS is_standby,
    coalesce(pg_wal_lsn_diff(pg_last_wal_replay_lsn(), '0/0'), 0)::text AS position,
    coalesce((SELECT received_tli FROM pg_stat_wal_receiver), (SELECT timeline_id FROM pg_control_checkpoint())) AS timeline,
    (SELECT system_identifier FROM pg_control_system())::text AS system, current_database() AS database`

interface Position {
  /** As text: it may exceed what a number holds. */
  position: string
  timeline: number
  system: string
  database: string
}

/** @throws an error if the connection does not lead to a standby of the same primary */
async function hasReplayed(client: pg.PoolClient, primary: Position): Promise<boolean> {
  const { rows } = await client.query<Position & { is_standby: boolean }>(prepared(READ_REPLICA, []))
  const [replica] = rows
  if (!replica?.is_standby) throw new Error('it is not a standby')
  if (replica.system !== primary.system) throw new Error('it is a standby of another server')
  if (replica.database !== primary.database) throw new Error('its URL names another database')
  if (replica.timeline !== primary.timeline) {
    throw new Error(`it is on timeline ${replica.timeline}, the primary on ${primary.timeline}`)
  }
  return BigInt(replica.position) >= BigInt(primary.position)
}

/** Executes a read on one connection. */
type Read<T> = (client: pg.PoolClient) => Promise<T>

/** A read that a replica may execute. */
interface Attempt {
  /** Whether its caller no longer waits, and reads from the primary. */
  isOver: boolean
  waitsFor: 'position' | 'replay' | 'result'
}

/** Why a read is executed on the primary, by what it waited for. */
const SLOW: Record<Attempt['waitsFor'], string> = {
  position: `the primary did not report its WAL position within ${MAX_WAIT_MS} ms`,
  replay: `it was not ready for the read within ${MAX_WAIT_MS} ms`,
  result: `the read took longer than ${MAX_READ_MS} ms`,
}

export interface Replicas {
  /** Whether there is a replica that is not left out. */
  isAvailable(): boolean
  /**
   * Executes a read on a replica that has replayed everything that the primary had acknowledged when this was called.
   * @returns undefined if no replica could in MAX_WAIT_MS, or if the read failed there or took longer than MAX_READ_MS: the
   * primary must execute it
   */
  read<T extends object>(read: Read<T>): Promise<T | undefined>
}

interface ReplicasOptions {
  pools: Pool[]
  /** A connection to the primary for its position only, so that it never waits behind other statements. */
  positionPool: Pool
  /** Receives why the primary executes reads: because of one replica, or of the primary itself without a pool. */
  onLeftOut(reason: string, pool?: Pool): void
}

/** Reads the position of the primary, once for all reads that wait. */
function createPositionReader(positionPool: Pool): Batcher<void, Position> {
  return new Batcher<void, Position>((take) =>
    positionPool.withConnection(async (client) => {
      const waiting = take() // before the position is read
      const { rows } = await client.query<Position & { is_durable: boolean }>(prepared(READ_PRIMARY, []))
      const primary = rows[0] as Position & { is_durable: boolean } // a SELECT without FROM has one row
      if (!primary.is_durable) throw new Error('synchronous_commit is off on the primary')
      return waiting.map(() => primary)
    }),
  )
}

/** The times in which replicas are left out. */
function createRests(pools: Pool[]) {
  const rests = new Map<Pool, { until: number; ms: number }>()
  return {
    available: () => pools.filter((pool) => (rests.get(pool)?.until ?? 0) <= performance.now()),
    begin(left: Pool[]): void {
      const now = performance.now()
      for (const pool of left) {
        const last = rests.get(pool) ?? { until: 0, ms: MIN_REST_MS / 2 }
        if (last.until > now) continue // begun by another read of the same moment
        const ms = Math.min(MAX_REST_MS, last.ms * 2)
        rests.set(pool, { until: now + ms, ms })
      }
    },
    /** The next rest is the shortest again. */
    reset: (pool: Pool) => void rests.delete(pool),
  }
}

/**
 * Reads from replicas without stale results: as etcd's read index, all reads that wait ask the primary once for its
 * position, and are executed where it has been replayed. Nothing is remembered of a replica: it may have been promoted, and
 * its address may lead to another server.
 */
export function createReplicas({ pools, positionPool, onLeftOut }: ReplicasOptions): Replicas {
  const rests = createRests(pools)
  let turn = 0

  const primaryPosition = createPositionReader(positionPool)

  /** @returns the result of the read; undefined if its caller no longer waits. The connection is kept for the next one */
  async function readFrom<T>(pool: Pool, read: Read<T>, attempt: Attempt): Promise<T | undefined> {
    const primary = await primaryPosition.execute()
    if (attempt.isOver) return undefined
    attempt.waitsFor = 'replay'
    return pool.withConnection(async (client) => {
      while (!attempt.isOver && !(await hasReplayed(client, primary))) await sleep(POLL_MS)
      if (attempt.isOver) return undefined
      attempt.waitsFor = 'result'
      const result = await read(client)
      if (!attempt.isOver) rests.reset(pool)
      return result
    })
  }

  return {
    isAvailable: () => rests.available().length > 0,
    async read<T extends object>(read: Read<T>) {
      const available = rests.available()
      const pool = available[turn++ % available.length] // they take turns
      if (!pool) return undefined
      const attempt: Attempt = { isOver: false, waitsFor: 'position' }
      const onError = (error: unknown) => {
        if (attempt.isOver) return // its replica was left out then, and may be back
        const cause = attempt.waitsFor === 'position' ? undefined : pool
        rests.begin(cause ? [cause] : pools)
        onLeftOut(reasonOf(error), cause)
      }
      const result = readFrom(pool, read, attempt).catch(onError)
      const ended = result.then(() => true)
      const endsWithin = (ms: number) => Promise.race([ended, sleep(ms, false, { ref: false })])
      if (await endsWithin(MAX_WAIT_MS)) return (await result) ?? undefined
      if (attempt.waitsFor === 'result' && (await endsWithin(MAX_READ_MS))) return (await result) ?? undefined
      attempt.isOver = true
      // A primary that is slow is no reason to send it all reads: no replica is left out.
      const cause = attempt.waitsFor === 'position' ? undefined : pool
      if (cause) rests.begin([cause])
      onLeftOut(SLOW[attempt.waitsFor], cause)
      return undefined
    },
  }
}
