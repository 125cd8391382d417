import type pg from 'pg'
import { pendingMigrations } from './migrate.ts'

/** What a database that responds says of itself. */
export interface DatabaseState {
  /** Why it cannot serve requests; undefined if it can. */
  problem: string | undefined
  /** Limits of a connection in milliseconds, which a pooler may have ignored when it was opened. */
  lockMs: number
  statementMs: number
  /** Settings without which a commit may be lost, or the data damaged, by a crash or a loss of power. */
  notDurable: string[]
}

/** A standby is read-only, and a primary that an operator has set to it. */
const READ_SETTINGS = `
  SELECT current_setting('transaction_read_only') = 'on' AS "readOnly",
    (SELECT setting::int FROM pg_settings WHERE name = 'lock_timeout') AS "lockMs",
    (SELECT setting::int FROM pg_settings WHERE name = 'statement_timeout') AS "statementMs",
    ARRAY(SELECT name FROM pg_settings WHERE setting = 'off'
      AND name IN ('fsync', 'full_page_writes', 'synchronous_commit') ORDER BY name) AS "notDurable"`

export async function readDatabaseState(database: { query: pg.Pool['query'] }): Promise<DatabaseState> {
  const { rows } = await database.query(READ_SETTINGS)
  const [{ readOnly, ...settings }] = rows as [DatabaseState & { readOnly: boolean }] // a SELECT without FROM has one row
  if (readOnly) return { ...settings, problem: 'The database is read-only: DATABASE_URL must lead to the primary.' }
  const { length } = await pendingMigrations(database)
  const problem = length ? `The schema lacks ${length} migration(s): node dist/cli/migrate.js deploy` : undefined
  return { ...settings, problem }
}
