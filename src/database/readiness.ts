import type pg from 'pg'
import { pendingMigrations } from './migrate.ts'

/** What a database that responds lacks to serve requests. */
export interface DatabaseState {
  /** Accepts no writes: a standby, or a primary that an operator has set to read-only. */
  readOnly: boolean
  /** Limits of a connection in milliseconds, which a pooler may have ignored when it was opened. */
  lockMs: number
  statementMs: number
  /** Names of the migrations that are not applied, oldest first. */
  pending: string[]
}

const READ_SETTINGS = `
  SELECT current_setting('transaction_read_only') = 'on' AS "readOnly",
    (SELECT setting::int FROM pg_settings WHERE name = 'lock_timeout') AS "lockMs",
    (SELECT setting::int FROM pg_settings WHERE name = 'statement_timeout') AS "statementMs"`

export async function readDatabaseState(database: { query: pg.Pool['query'] }): Promise<DatabaseState> {
  const { rows } = await database.query<Omit<DatabaseState, 'pending'>>(READ_SETTINGS)
  const [settings] = rows as [(typeof rows)[0]] // a SELECT without FROM has one row
  return { ...settings, pending: await pendingMigrations(database) }
}

/** @returns why the database cannot serve requests; undefined if it can */
export function problemForClients({ readOnly, pending }: DatabaseState): string | undefined {
  if (readOnly) return 'The database is read-only.'
  return pending.length ? `${pending.length} pending migration(s).` : undefined
}
