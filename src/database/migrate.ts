import { hash, randomUUID } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { OperatorError } from '../lib/operator-error.ts'
import { PROJECT } from '../project.ts'
import { isSchemaOutdated, reasonOf } from './failures.ts'
import { KEEP_ALIVE } from './pool.ts'

const PRISMA_DIR = fileURLToPath(new URL('prisma/', PROJECT))

/** The advisory lock that Prisma's own CLI takes, so that migrations are serialised across processes and tools. */
const MIGRATION_LOCK = 72_707_369

/** How often a process tries to take the lock while another process has it, in milliseconds. */
const LOCK_POLL_MS = 100

/** Prisma's table of applied migrations, as its CLI creates and reads it. */
const CREATE_HISTORY = `
  CREATE TABLE IF NOT EXISTS "public"."_prisma_migrations" (
    id VARCHAR(36) PRIMARY KEY NOT NULL,
    checksum VARCHAR(64) NOT NULL,
    finished_at TIMESTAMPTZ,
    migration_name VARCHAR(255) NOT NULL,
    logs TEXT,
    rolled_back_at TIMESTAMPTZ,
    started_at TIMESTAMPTZ NOT NULL DEFAULT now(),
    applied_steps_count INTEGER NOT NULL DEFAULT 0
  )`

/** @returns the names of the migrations in the folder, oldest first */
export function listMigrations(): string[] {
  return readdirSync(join(PRISMA_DIR, 'migrations'), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => entry.name)
    .sort()
}

/**
 * Applies every pending migration (decision 10), each in one transaction with its row in Prisma's history (decision 11).
 * An index that a migration creates CONCURRENTLY is created before that transaction.
 * @returns the names of the migrations that it has applied, oldest first
 * @throws OperatorError that names the migration which failed
 */
export function migrate(url: string, wait?: LockOptions): Promise<string[]> {
  const applyPending = async (client: pg.Client) => {
    await client.query(CREATE_HISTORY)
    const pending = await pendingMigrations(client)
    for (const name of pending) {
      await apply(client, name).catch((cause: unknown) => {
        throw new OperatorError(`The migration ${name} failed: ${reasonOf(cause)}`, { cause })
      })
    }
    return pending
  }
  return withMigrationLock(url, applyPending, wait)
}

async function apply(client: pg.Client, name: string): Promise<void> {
  const script = readFileSync(join(PRISMA_DIR, 'migrations', name, 'migration.sql'), 'utf8')
  const [, index] = /^CREATE (?:UNIQUE )?INDEX CONCURRENTLY ("\w+")/m.exec(script) ?? []
  if (index) await createIndex(client, index, script)
  // While a statement waits for the lock of a table, requests that use the table wait behind it. The time is longer than
  // deadlock_timeout, 1 s by default, after which PostgreSQL cancels an autovacuum that has the lock.
  await client.query("BEGIN; SET LOCAL lock_timeout = '1500ms'")
  if (!index) await client.query(script)
  await client.query(
    `INSERT INTO "public"."_prisma_migrations" (id, checksum, migration_name, started_at, finished_at, applied_steps_count)
     VALUES ($1, $2, $3, now(), clock_timestamp(), 1)`,
    [randomUUID(), hash('sha256', script), name],
  )
  await client.query('COMMIT') // after a failure withMigrationLock ends the connection, which rolls back
}

/**
 * CONCURRENTLY blocks no writes, and is not possible in a transaction. A valid index that exists is kept, because only an
 * administrator can create one on a partitioned table. An index that is not valid was left by an interrupted attempt.
 */
async function createIndex(client: pg.Client, name: string, script: string): Promise<void> {
  const { rows } = await client.query<{ isValid: boolean }>(
    'SELECT indisvalid AS "isValid" FROM pg_index WHERE indexrelid = to_regclass($1)',
    [`public.${name}`],
  )
  if (rows[0]?.isValid) return
  if (rows[0]) await client.query(`DROP INDEX CONCURRENTLY "public".${name}`)
  await client.query(script)
}

export type Queryable = { query: pg.Pool['query'] }

/** @returns the names of the migrations in the folder that are not applied, oldest first; empty for a current schema */
export async function pendingMigrations(database: Queryable): Promise<string[]> {
  const migrations = listMigrations()
  try {
    const { rows } = await database.query<{ migration_name: string }>(
      'SELECT migration_name FROM "public"."_prisma_migrations" WHERE finished_at IS NOT NULL AND rolled_back_at IS NULL',
    )
    const applied = new Set(rows.map((row) => row.migration_name))
    return migrations.filter((name) => !applied.has(name))
  } catch (error) {
    if (isSchemaOutdated(error)) return migrations
    throw error
  }
}

export interface LockOptions {
  /** Called once if another process has the lock. */
  onWait?: (() => void) | undefined
  /** Ends the wait with an AbortError. */
  signal?: AbortSignal
}

/** Runs work on the database that only one process may do at a time. */
export async function withMigrationLock<T>(
  url: string,
  work: (client: pg.Client) => Promise<T>,
  { onWait, signal }: LockOptions = {},
): Promise<T> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5_000, ...KEEP_ALIVE })
  client.on('error', () => {}) // losing the connection fails the work and releases the lock
  await client.connect()
  try {
    // Limits that an operator has set on the role are for requests. Names in migrations have no schema.
    await client.query(`SET search_path = public; SELECT set_config(name, '0', false) FROM pg_settings
      WHERE name IN ('statement_timeout', 'lock_timeout', 'transaction_timeout', 'idle_in_transaction_session_timeout')`)
    // It only tries: CREATE INDEX CONCURRENTLY of the lock's holder would wait for a statement that waits for the lock.
    const tryLock = () => client.query('SELECT 1 WHERE pg_try_advisory_lock($1)', [MIGRATION_LOCK])
    for (let attempts = 0; !(await tryLock()).rowCount; attempts++) {
      if (attempts === 0) onWait?.()
      await sleep(LOCK_POLL_MS, undefined, { signal })
    }
    return await work(client)
  } finally {
    await client.end()
  }
}
