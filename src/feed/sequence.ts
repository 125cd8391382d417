import type { ReadRows } from '../database/statements.ts'
import { ApiError, invalidArgumentError } from '../errors.ts'
import type { Resource } from '../store/resource.ts'
import { namesOf } from '../store/table.ts'

/**
 * SQL that selects the id that the sequence has given last or, if it has given none since it was set, the id before the
 * next one. A statement reads the sequence after its snapshot was taken, so a row with a higher id does not have it from
 * the sequence: the row was imported, and the sequence was not moved. The feed does not read such a row before the sequence
 * has passed it, because the feed would skip all ids between them.
 */
export function selectLastId(resource: Resource): string {
  return `(SELECT last_value - (NOT is_called)::int FROM ${namesOf(resource).sequence})`
}

/**
 * SQL that selects a text that changes when the server is started, or when the table, a partition or the sequence gets a
 * new file (TRUNCATE, ALTER SEQUENCE, VACUUM FULL). While the text is the same, a database goes back to an older state only
 * by statements such as DELETE and `setval`, or by a crash that loses commits of `synchronous_commit = off`.
 */
export function selectHistory(resource: Resource): string {
  const { name, sequence } = namesOf(resource)
  return `concat_ws(' ', pg_postmaster_start_time(), pg_relation_filenode('${name}'), pg_relation_filenode('${sequence}'),
    (SELECT string_agg(pg_relation_filenode(relid)::text, ' ') FROM pg_partition_tree('${name}'))) AS history`
}

/** `highest` compares the last id of the sequence, whose row may be gone, with that of the table, which may be imported. */
function selectSequence(resource: Resource): string {
  const { name, sequence } = namesOf(resource)
  return `
    SELECT last, greatest(last, (SELECT max(id) FROM ${name})) AS highest, seqcache AS "cacheSize",
      ${selectHistory(resource)}, pg_is_in_recovery() AS "isStandby"
    FROM pg_sequence, ${selectLastId(resource)} AS given (last) WHERE seqrelid = '${sequence}'::regclass`
}

/** The state of a sequence. The feed assumes that no row has an id above `last`, and that `cacheSize` is 1. */
export interface SequenceState {
  last: bigint
  /** No assigned id is above this one, even after a crash or a failover: the sequence then skips a few ids. */
  highest: bigint
  cacheSize: bigint
  /** A text that changes when the database may have gone back to an older state: see `selectHistory`. */
  history: string
}

/** @throws ApiError UNAVAILABLE for the row of a standby */
export function requirePrimary<Row extends { isStandby: boolean }>([row]: Row[]): Row {
  if (!row || row.isStandby) throw new ApiError('UNAVAILABLE', 'The database is a standby. Retry later.')
  return row
}

/** @returns what an operator must repair, and how; undefined if nothing */
export function sequenceProblemOf(resource: Resource, { last, highest, cacheSize }: SequenceState): string | undefined {
  const { name, sequence } = namesOf(resource)
  if (cacheSize !== 1n) return `live lists miss ${resource.name}: ALTER SEQUENCE ${sequence} CACHE 1`
  if (highest <= last) return undefined
  return `there are ids above the sequence: SELECT setval('${sequence}', (SELECT max(id) FROM ${name}))`
}

/** After a restore of an older state, new items get ids below clients' positions, so streams would miss them. */
export function tooNewError({ noun }: Resource, argument: string): ApiError {
  const message = `is newer than every ${noun}, as after a restore from a backup: begin with a new page`
  return invalidArgumentError([{ path: [argument], message }])
}

/**
 * @param onState receives each state that was read
 * @returns a function that reads the state. The read begins after the call, so its result is not older than what the caller
 *   knows
 */
export function createReadSequence(resource: Resource, readRows: ReadRows, onState: (state: SequenceState) => void) {
  const text = selectSequence(resource)
  return async (): Promise<SequenceState> => {
    const state = requirePrimary(await readRows<SequenceState & { isStandby: boolean }>(text, []))
    onState(state)
    return state
  }
}
