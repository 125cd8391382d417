import { type Queryable, pendingMigrations } from './migrate.ts'

export interface DatabaseState {
  /** Why the database cannot serve requests; undefined if it can. */
  problem: string | undefined
  /** Settings without which a commit may be lost, or the data damaged, by a crash or a loss of power. */
  notDurable?: string[] | undefined // unknown if the database did not respond
}

/** Selects rights that requests need and the role lacks. has_table_privilege with an oid ignores USAGE of the schema. */
const MISSING_RIGHTS = `
  SELECT privilege || ' on ' || relation
  FROM (
    VALUES ('api_key', 'SELECT'), ('idempotency_key', 'SELECT'), ('idempotency_key', 'INSERT'),
      ('idempotency_key', 'UPDATE'), ('_prisma_migrations', 'SELECT')
    UNION SELECT name || suffix, privilege FROM unnest($1::text[]) AS name
      CROSS JOIN (VALUES ('', 'SELECT'), ('', 'INSERT'), ('_id_seq', 'SELECT'), ('_id_seq', 'USAGE')) AS of_resource (suffix, privilege)
  ) AS needed (relation, privilege)
  JOIN pg_class ON relname = relation AND relnamespace = to_regnamespace('public')
  WHERE NOT has_schema_privilege(relnamespace, 'USAGE') OR NOT CASE relkind
    WHEN 'S' THEN has_sequence_privilege(pg_class.oid, privilege) ELSE has_table_privilege(pg_class.oid, privilege) END
  ORDER BY relation, privilege`

/** Selects the tables that no migration creates: a resource was added without its migration. */
const MISSING_TABLES = `
  SELECT name FROM unnest($1::text[]) AS name
  WHERE name NOT IN (SELECT relname FROM pg_class WHERE relnamespace = to_regnamespace('public'))`

/** `readOnly` is true on a standby, and on a primary that an operator has set to read-only. */
const READ_SETTINGS = `
  SELECT current_setting('transaction_read_only') = 'on' AS "readOnly",
    ARRAY(SELECT name FROM pg_settings WHERE setting = 'off'
      AND name IN ('fsync', 'full_page_writes', 'synchronous_commit') ORDER BY name) AS "notDurable",
    ARRAY(${MISSING_RIGHTS}) AS "missingRights", ARRAY(${MISSING_TABLES}) AS "missingTables"`

type SettingsRow = DatabaseState & { readOnly: boolean; missingRights: string[]; missingTables: string[] }

/** Reads the state, or rejects if the database is not available. @param tables the names of the resources' tables */
export async function readDatabaseState(database: Queryable, tables: string[]): Promise<DatabaseState> {
  const { rows } = await database.query(READ_SETTINGS, [tables])
  const [{ readOnly, missingRights, missingTables, notDurable }] = rows as [SettingsRow] // a SELECT without FROM has one row
  const state = (problem?: string) => ({ notDurable, problem })
  if (missingRights.length) return state(`The role of DATABASE_URL lacks rights: ${missingRights.join(', ')}.`)
  if (readOnly) return state('The database is read-only: it is a standby, or default_transaction_read_only is on.')
  const { length } = await pendingMigrations(database)
  if (length) return state(`The schema lacks ${length} migration(s): node dist/cli/migrate.js deploy`)
  return state(missingTables.length ? `No migration creates the table ${missingTables.join(', ')}.` : undefined)
}
