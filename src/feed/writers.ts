import type { ReadRows } from '../database/statements.ts'
import type { Resource } from '../store/resource.ts'
import { namesOf } from '../store/table.ts'
import { requirePrimary, selectHistory, selectLastId } from './sequence.ts'

/** Whether a restart of the server gave this id: to a prepared transaction (two-phase commit), which survives it. */
const isFromRestart = (virtualTransaction: string) => virtualTransaction.startsWith('-1/')

/**
 * Ids are drawn before commit, so row 300 may be visible while row 299 is not yet. An INSERT takes a RowExclusiveLock on
 * the table before it draws an id, and holds the lock until its row is visible. So an id that is missing below a visible
 * one belongs to a transaction that holds the lock now, or will never be visible. CREATE INDEX CONCURRENTLY waits in the
 * same way. The sequence must have no CACHE, and the server must be the primary: a standby does not show the locks.
 * @returns a function that begins a wait for the transactions that hold the lock. Later ones do not matter
 */
export function createWriterWait(resource: Resource, readRows: ReadRows) {
  const { name } = namesOf(resource)
  const selectWriters = `
    ARRAY(
      SELECT DISTINCT virtualtransaction FROM pg_locks
      WHERE locktype = 'relation' AND mode = 'RowExclusiveLock' AND granted
      AND (relation = '${name}'::regclass OR relation IN (SELECT relid FROM pg_partition_tree('${name}')))
      AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
    ) AS writers, pg_is_in_recovery() AS "isStandby"`
  // One statement reads the newest id and the locks: PostgreSQL reads the locks after the snapshot of the statement.
  const selectNewest = `
    SELECT coalesce((SELECT max(id) FROM ${name} WHERE id <= ${selectLastId(resource)}), 0) AS newest, ${selectWriters},
      ${selectHistory(resource)}`
  type Writers = { writers: string[]; isStandby: boolean }
  return async () => {
    const sinceMs = performance.now()
    const { newest, writers, history } = requirePrimary(
      await readRows<Writers & { newest: bigint; history: string }>(selectNewest, []),
    )
    let awaited = writers
    let previous = writers
    return {
      /** The newest visible id, which is settled when the wait is over. */
      newest,
      history,
      get isOver() {
        return awaited.length === 0
      },
      get waitedMs() {
        return performance.now() - sinceMs
      },
      /** The pause before the next `update`. Most inserts end within the first one, and longer waits need fewer reads. */
      get pauseMs() {
        return Math.min(Math.max(this.waitedMs, 5), 100)
      },
      async update(): Promise<void> {
        const current = requirePrimary(await readRows<Writers>(`SELECT ${selectWriters}`, [])).writers
        const gone = awaited.filter((writer) => !current.includes(writer))
        awaited = awaited.filter((writer) => current.includes(writer))
        // A transaction that is gone may be a prepared one, which got another id when the server was restarted.
        if (gone.some((writer) => !isFromRestart(writer))) {
          awaited.push(...current.filter((writer) => isFromRestart(writer) && !previous.includes(writer)))
        }
        previous = current
      },
    }
  }
}
