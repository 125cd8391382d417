import { createCoalescer } from '../coalesce.ts'
import type { RunStatement } from '../database/statements.ts'
import { invalidArgument } from '../errors.ts'
import { onPrimary } from './settled.ts'

/** The sequence has ids that were rolled back or deleted. The table has ids that were imported with their rows. */
const READ_HIGHEST_ASSIGNED_ID = `
  SELECT greatest((SELECT max(id) FROM "public"."animal"), (
    SELECT last_value FROM pg_sequences WHERE schemaname = 'public' AND sequencename = 'animal_id_seq'
  ), 0) AS id, pg_is_in_recovery() AS "isStandby"`

/** Every id that the database has assigned is at most this one: a crash or a failover skips a few. */
export async function readHighestAssignedId(run: RunStatement): Promise<bigint> {
  return onPrimary(await run<{ id: bigint; isStandby: boolean }>(READ_HIGHEST_ASSIGNED_ID, [])).id
}

/**
 * After a restore of an older state, new animals get ids below the positions that clients have: they would receive
 * nothing, without an error.
 * @returns throws ApiError INVALID_ARGUMENT, which names the argument, for a position above every id that was assigned
 */
export function createRequireAssigned(run: RunStatement) {
  const coalesce = createCoalescer<bigint>() // a statement that begins later than its callers knows all that they know
  return async (position: bigint, argument: string): Promise<void> => {
    if (position <= (await coalesce('highest', () => readHighestAssignedId(run)))) return
    const message = 'is newer than every animal, as after a restore from a backup: begin with a new page'
    throw invalidArgument([{ path: [argument], message }])
  }
}
