import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import { Batcher } from './batcher.ts'
import type { Pool } from './client.ts'
import { reasonOf } from './errors.ts'

/** How long a read may wait for a replica, in milliseconds, before it is executed on the primary. */
const MAX_WAIT_MS = 20

/** Pause between two looks at a replica that has not replayed enough, in milliseconds. */
const POLL_MS = 2

/** How long a replica that failed or lags is left out before it is tried again, in milliseconds. */
const REST_MS = 1_000

/**
 * The end of the WAL that the primary has written to disk: each commit that it has acknowledged is before it. Not so with
 * synchronous_commit = off. WAL positions are numbers of bytes.
 */
const READ_PRIMARY = `
  SELECT pg_wal_lsn_diff(pg_current_wal_flush_lsn(), '0/0')::text AS position,
    current_setting('synchronous_commit') <> 'off' AS is_durable`

/** A statement of its own: the snapshot of a statement is older than the values of its functions. */
const READ_REPLICA = `
  SELECT pg_is_in_recovery() AS is_standby,
    coalesce(pg_wal_lsn_diff(pg_last_wal_replay_lsn(), '0/0'), 0)::text AS position`

/** @throws an error if the connection does not lead to a standby */
async function hasReplayed(client: pg.PoolClient, position: bigint): Promise<boolean> {
  const { rows } = await client.query<{ position: string; is_standby: boolean }>(READ_REPLICA)
  if (!rows[0]?.is_standby) throw new Error('it is not a standby')
  return BigInt(rows[0].position) >= position
}

/** Executes a read on one connection. */
type Read<T> = (client: pg.PoolClient) => Promise<T>

/** A read that a replica may execute. */
interface Attempt {
  /** Whether its caller no longer waits, and reads from the primary. */
  isOver: boolean
  hasBegun: boolean
}

export interface Replicas {
  /**
   * Executes a read on a replica that has replayed everything that the primary had acknowledged when this was called.
   * @returns undefined if no replica could in MAX_WAIT_MS, or if the read failed there: the primary must execute it
   */
  read<T extends object>(read: Read<T>): Promise<T | undefined>
}

interface ReplicasOptions {
  pools: Pool[]
  /** A connection to the primary for its position only, so that it never waits behind other statements. */
  positionPool: Pool
  /** Receives why a replica is left out for REST_MS, or all of them without a pool. */
  onLeftOut(reason: string, pool?: Pool): void
}

/**
 * Reads from replicas without stale results: as etcd's read index, all reads that wait ask the primary once for its
 * position, and are executed where it has been replayed. Nothing is remembered of a replica: it may have been promoted, and
 * its address may lead to another server.
 */
export function createReplicas({ pools, positionPool, onLeftOut }: ReplicasOptions): Replicas {
  const restingUntil = new Map<Pool, number>()
  let turn = 0

  /** undefined if the position does not say what was acknowledged. */
  const primaryPosition = new Batcher<void, bigint | undefined>((take) =>
    positionPool.withConnection(async (client) => {
      const waiting = take() // before the position is read
      const { rows } = await client.query<{ position: string; is_durable: boolean }>(READ_PRIMARY)
      if (!rows[0]?.is_durable) onLeftOut('synchronous_commit is off on the primary')
      return waiting.map(() => (rows[0]?.is_durable ? BigInt(rows[0].position) : undefined))
    }),
  )

  /** Replicas take turns, except those that are left out. */
  function nextPool(): Pool | undefined {
    const now = performance.now()
    const available = pools.filter((pool) => (restingUntil.get(pool) ?? 0) <= now)
    return available[turn++ % available.length]
  }

  function leaveOut(pool: Pool, error: unknown): void {
    restingUntil.set(pool, performance.now() + REST_MS)
    onLeftOut(reasonOf(error), pool)
  }

  /** @returns the result of the read; undefined if its caller no longer waits. The connection is kept for the next one */
  async function readFrom<T>(pool: Pool, read: Read<T>, attempt: Attempt): Promise<T | undefined> {
    const position = await primaryPosition.execute().catch(() => undefined)
    if (position === undefined) return undefined
    return pool.withConnection(async (client) => {
      while (!attempt.isOver && !(await hasReplayed(client, position))) await sleep(POLL_MS)
      if (attempt.isOver) return undefined
      attempt.hasBegun = true
      return read(client)
    })
  }

  return {
    async read<T extends object>(read: Read<T>) {
      const pool = nextPool()
      if (!pool) return undefined
      const attempt = { isOver: false, hasBegun: false }
      const result = readFrom(pool, read, attempt).catch((error: unknown) => leaveOut(pool, error))
      const first = await Promise.race([result.then(() => 'ended'), sleep(MAX_WAIT_MS, 'waited', { ref: false })])
      if (first === 'waited' && !attempt.hasBegun) {
        attempt.isOver = true
        leaveOut(pool, `it was not ready for the read within ${MAX_WAIT_MS} ms`)
        return undefined
      }
      return (await result) ?? undefined
    },
  }
}
