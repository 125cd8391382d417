import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import { reasonOf } from './failures.ts'
import { type Pool, toPreparedStatement } from './pool.ts'

/** How long a read may take, in milliseconds, before it is executed on the primary, too. */
const MAX_READ_MS = 50

/** Pause before the position of a replica that has not replayed enough is read again, in milliseconds. */
const POLL_MS = 2

/** How long a replica is excluded at first and at most, in milliseconds. The time doubles until the replica executes a read. */
const MIN_BACKOFF_MS = 20
const MAX_BACKOFF_MS = 1_000

/**
 * Selects the end of the WAL that the primary has written to disk. Each commit that it has acknowledged is before this
 * position, except with synchronous_commit = off. Positions are numbers of bytes. Those of different histories cannot be
 * compared: another server has another history, and so has a timeline that ended when a standby was promoted.
 */
const READ_PRIMARY = `
  SELECT pg_current_wal_flush_lsn() - '0/0' AS position, current_database() AS database,
    ('x' || left(pg_walfile_name(pg_current_wal_flush_lsn()), 8))::bit(32)::int AS timeline,
    (pg_control_system()).system_identifier::text AS system, current_setting('synchronous_commit') <> 'off' AS is_durable`

/**
 * Selects the position of a replica, in a statement before the read: a statement evaluates functions after its snapshot was
 * taken, so the position could be newer than the rows. The timeline that a standby receives is hidden without the role
 * pg_read_all_stats. The timeline of its last restartpoint is used then, and may be an older one.
 */
const READ_REPLICA = `
  SELECT coalesce(pg_last_wal_replay_lsn() - '0/0', 0) AS position, current_database() AS database,
    coalesce((SELECT received_tli FROM pg_stat_wal_receiver), (SELECT timeline_id FROM pg_control_checkpoint())) AS timeline,
    (pg_control_system()).system_identifier::text AS system, pg_is_in_recovery() AS is_standby`

interface Position {
  /** Text, because the position may exceed what a number holds. */
  position: string
  timeline: number
  system: string
  database: string
  /** Whether a commit is on disk when it is acknowledged. Only the primary reports it. */
  is_durable?: boolean
  /** Whether the server replays the WAL of another one. Only a replica reports it. */
  is_standby?: boolean
}

type ReadPositions = (text: string, values: unknown[]) => Promise<Position[]>

/** @returns how many bytes the replica is ahead. @throws an error if it is no standby of the same primary */
function bytesAhead(primary: Position, replica?: Position): bigint {
  if (!replica?.is_standby) throw new Error('it is not a standby')
  if (replica.system !== primary.system) throw new Error('it is a standby of another server')
  if (replica.database !== primary.database) throw new Error('its URL names another database')
  if (replica.timeline !== primary.timeline) {
    throw new Error(`it is on timeline ${replica.timeline}, the primary on ${primary.timeline}`)
  }
  return BigInt(replica.position) - BigInt(primary.position)
}

/**
 * Whether a replica has replayed what the primary had on its disk. If it is ahead, the primary's position is read once more:
 * the primary sends only what is on its disk, so a replica that is past even this position has another history.
 */
async function hasReplayed(primary: Position, replica: Position | undefined, reread: () => Promise<Position | void>) {
  const aheadBytes = bytesAhead(primary, replica)
  if (aheadBytes <= 0n) return aheadBytes === 0n
  const later = await reread()
  if (later && bytesAhead(later, replica) > 0n) throw new Error('it is ahead of the primary, so it has another history')
  return later !== undefined
}

/** A read that a replica may execute. */
interface Attempt {
  /** Whether its caller no longer waits, and reads from the primary. */
  isAbandoned: boolean
  primary?: Position | undefined
}

/** @returns false, one turn of the event loop after `ms`, so that a result that has arrived meanwhile wins */
async function falseAfter(ms: number): Promise<false> {
  await sleep(ms, undefined, { ref: false })
  return nextTurn(false, { ref: false })
}

/** Reads the primary's position. @param onFailure receives why the position is unknown */
function createPositionReader(readOnPrimary: ReadPositions, onFailure: (reason: string) => void) {
  return async (attempt: Attempt): Promise<Position | undefined> => {
    attempt.primary = undefined
    try {
      const [primary] = await readOnPrimary(READ_PRIMARY, [])
      if (!primary?.is_durable) throw new Error('synchronous_commit is off on the primary')
      attempt.primary = primary
    } catch (error) {
      onFailure(reasonOf(error))
    }
    return attempt.primary
  }
}

/** Why the primary executes a replica's read: one or all replicas are excluded for a while, or the primary is slow. */
export type ReplicaObservation =
  /** Without a host, all of them. */
  | { type: 'replica-excluded'; replica: { reason: string; host: string | undefined } }
  | { type: 'replicas-bypassed'; reason: string }

/** A replica, and for how long no read tries it. */
interface Replica {
  pool: Pool
  host: string
  excludedUntilMs: number
  /** How long its next exclusion takes, in milliseconds. */
  backoffMs: number
}

/** Excludes replicas from reads, with exponential backoff. */
function backOff(replicas: Replica[]): void {
  const nowMs = performance.now()
  for (const replica of replicas) {
    if (replica.excludedUntilMs > nowMs) continue // begun by another read of the same moment
    replica.excludedUntilMs = nowMs + replica.backoffMs
    replica.backoffMs = Math.min(MAX_BACKOFF_MS, replica.backoffMs * 2)
  }
}

export type Replicas = ReturnType<typeof createReplicas>

/**
 * Reads from replicas without stale results, like etcd's read index (decision 27): the primary's position is read once for
 * all reads that wait, and each read is executed on a replica that has replayed that position. Nothing is remembered of a
 * replica, because it may have been promoted, and its address may lead to another server.
 * @param readOnPrimary executes a statement, once for all that wait, on a connection that nothing else uses
 */
export function createReplicas(
  servers: Pick<Replica, 'pool' | 'host'>[],
  readOnPrimary: ReadPositions,
  observe: (event: ReplicaObservation) => void = () => {},
) {
  const replicas = servers.map((one): Replica => ({ ...one, excludedUntilMs: 0, backoffMs: MIN_BACKOFF_MS }))
  const listAvailable = () => replicas.filter(({ excludedUntilMs }) => excludedUntilMs <= performance.now())
  const bypass = (reason: string) => observe({ type: 'replicas-bypassed', reason })
  let reads = 0
  const readPosition = createPositionReader(readOnPrimary, exclude)

  /** @param failed undefined for all of them, because of the primary */
  function exclude(reason: string, failed?: Replica): void {
    backOff(failed ? [failed] : replicas)
    observe({ type: 'replica-excluded', replica: { reason, host: failed?.host } })
  }

  /** @returns undefined, which keeps the connection, if the position is unknown or the caller no longer waits */
  async function readFrom<T>(replica: Replica, read: (client: pg.PoolClient) => Promise<T>, attempt: Attempt) {
    const position = readPosition(attempt)
    return replica.pool.withConnection(async (client) => {
      for (;;) {
        // Both positions are read at the same time, because a standby keeps what it has replayed.
        const reading = client.query<Position>(toPreparedStatement(READ_REPLICA, []))
        const [primary, { rows }] = await Promise.all([position, reading])
        if (!primary || attempt.isAbandoned) return undefined
        if (await hasReplayed(primary, rows[0], () => readPosition(attempt))) break
        await sleep(POLL_MS)
      }
      const result = await read(client)
      if (!attempt.isAbandoned) Object.assign(replica, { excludedUntilMs: 0, backoffMs: MIN_BACKOFF_MS })
      return result
    })
  }

  return {
    isAvailable: () => listAvailable().length > 0,
    /**
     * Executes a read on a replica that has replayed everything that the primary had acknowledged when this was called.
     * @returns undefined if no replica did in MAX_READ_MS: the primary must execute it
     */
    async tryRead<T extends object>(read: (client: pg.PoolClient) => Promise<T>): Promise<T | undefined> {
      const available = listAvailable()
      const replica = available[reads++ % available.length] // they take turns
      if (!replica) return undefined
      const attempt: Attempt = { isAbandoned: false }
      const result = readFrom(replica, read, attempt).catch((error: unknown): undefined => {
        if (!attempt.isAbandoned) exclude(reasonOf(error), replica) // an abandoned read may fail later, when the pool is back
      })
      if (await Promise.race([result.then(() => true), falseAfter(MAX_READ_MS)])) return result
      attempt.isAbandoned = true
      if (attempt.primary) exclude(`it did not execute the read within ${MAX_READ_MS} ms`, replica)
      // The primary is slow: to exclude replicas would add to its load.
      else bypass(`the primary did not report its WAL position within ${MAX_READ_MS} ms`)
      return undefined
    },
  }
}
