import type pg from 'pg'
import { pendingMigrations } from './migrate.ts'

/** What a database that responds lacks to serve requests. */
export interface DatabaseState {
  /** Accepts no writes: a standby, or a primary that an operator has set to read-only. */
  readOnly: boolean
  /** Names of the migrations that are not applied, oldest first. */
  pending: string[]
  /** Limits of a connection in milliseconds, which a pooler may have ignored when it was opened. */
  lockMs: number
  statementMs: number
}

const READ_SETTINGS = `
  SELECT current_setting('transaction_read_only') = 'on' AS read_only,
    (SELECT setting::int FROM pg_settings WHERE name = 'lock_timeout') AS lock_ms,
    (SELECT setting::int FROM pg_settings WHERE name = 'statement_timeout') AS statement_ms`

interface SettingsRow {
  read_only: boolean
  lock_ms: number
  statement_ms: number
}

/** @returns the state of the database; rejects when it does not respond */
export async function readDatabaseState(database: { query: pg.Pool['query'] }): Promise<DatabaseState> {
  const { rows } = await database.query<SettingsRow>(READ_SETTINGS)
  const settings = rows[0] as SettingsRow // a SELECT without FROM has one row
  const pending = await pendingMigrations(database)
  return { readOnly: settings.read_only, pending, lockMs: settings.lock_ms, statementMs: settings.statement_ms }
}

/** @returns why the database cannot serve requests; undefined if it can */
export function problemForClients({ readOnly, pending }: DatabaseState): string | undefined {
  if (readOnly) return 'The database is read-only.'
  return pending.length ? `${pending.length} pending migration(s).` : undefined
}
