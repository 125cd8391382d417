import { readFileSync, readdirSync } from 'node:fs'
import { copyFile, mkdir, readFile, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { PrismaPg } from '@prisma/adapter-pg'
import { bindMigrationAwareSqlAdapterFactory } from '@prisma/driver-adapter-utils'
import * as schemaEngine from '@prisma/schema-engine-wasm/schema_engine_bg'
import pg from 'pg'
import { isSchemaBehind } from './failure.ts'

const prismaDir = fileURLToPath(new URL('../../prisma/', import.meta.url))
const migrationsDir = join(prismaDir, 'migrations')
const model = join(prismaDir, 'schema.prisma')
/** The model as the migrations leave it: what the next one starts from. */
const migratedModel = join(migrationsDir, 'schema.prisma')
const filters = { externalTables: [], externalEnums: [] }

/** Any number of our own: every process that migrates takes this PostgreSQL advisory lock, so one does and all wait. */
const MIGRATION_LOCK = 7_301_985

/** Names of the migrations in the folder, oldest first. */
export const migrationNames: readonly string[] = readdirSync(migrationsDir, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map((entry) => entry.name)
  .sort()

/**
 * Applies every pending migration with Prisma's own engine, under a lock. The engine leaves a timer of ten seconds
 * behind, so a command line that migrates has to end with `process.exit`.
 * @returns the names of those applied now, oldest first
 */
export function migrate(url: string): Promise<string[]> {
  return withLock(url, async (client) => {
    await forgetInterrupted(client)
    return withEngine(url, async (engine) => {
      const { appliedMigrationNames } = await engine.applyMigrations({ migrationsList: migrationsList(), filters })
      return appliedMigrationNames
    })
  })
}

/**
 * A migration that began and did not finish left nothing behind, because its script is one transaction that also marks
 * it finished (see createMigration). Whoever ran it is gone, since the lock is ours: it is marked as rolled back, so
 * that the engine applies it again.
 */
async function forgetInterrupted(client: pg.Client): Promise<void> {
  const { rows } = await client.query(`SELECT to_regclass('_prisma_migrations') IS NOT NULL AS exists`)
  if (!rows[0].exists) return
  await client.query(
    'UPDATE _prisma_migrations SET rolled_back_at = now() WHERE finished_at IS NULL AND rolled_back_at IS NULL',
  )
}

/** Names of the migrations in the folder that the database does not have yet: empty when its schema is current. */
export async function pendingMigrations(database: { query: pg.Pool['query'] }): Promise<string[]> {
  try {
    const { rows } = await database.query<{ migration_name: string }>(
      'SELECT migration_name FROM _prisma_migrations WHERE finished_at IS NOT NULL AND rolled_back_at IS NULL',
    )
    const applied = new Set(rows.map((row) => row.migration_name))
    return migrationNames.filter((name) => !applied.has(name))
  } catch (error) {
    if (isSchemaBehind(error)) return [...migrationNames]
    throw error
  }
}

/**
 * Writes the migration that leads from the model of the last migration (kept beside them) to schema.prisma. The
 * engine compares the two without looking at the database, but wants one to talk to.
 * @returns the new folder's name, or undefined when the two agree already
 */
export async function createMigration(url: string, name: string): Promise<string | undefined> {
  const from = { tag: 'schemaDatamodel' as const, files: [await modelFile(migratedModel)] }
  const to = { tag: 'schemaDatamodel' as const, files: [await modelFile(model)] }
  const diff = await withEngine(url, (engine) => engine.diff({ from, to, script: true, exitCode: true, filters }))
  if (diff.exitCode === 0 || !diff.stdout) return undefined
  const folder = `${new Date().toISOString().replace(/\D/g, '').slice(0, 14)}_${name}`
  await mkdir(join(migrationsDir, folder))
  await writeFile(join(migrationsDir, folder, 'migration.sql'), diff.stdout + markFinished(folder))
  await copyFile(model, migratedModel)
  return folder
}

/** The end of every script: PostgreSQL runs it as one transaction, so either all of it has happened or nothing. */
function markFinished(name: string): string {
  return `
-- In one transaction with all of the above: a crash leaves the whole migration or nothing of it.
UPDATE "_prisma_migrations" SET "finished_at" = now() WHERE "migration_name" = '${name}' AND "finished_at" IS NULL;
`
}

async function modelFile(path: string): Promise<schemaEngine.SchemaContainer> {
  return { path, content: await readFile(path, 'utf8') }
}

/** The folder as the engine wants to be told of it. */
function migrationsList(): schemaEngine.MigrationList {
  return {
    baseDir: migrationsDir,
    lockfile: { path: 'migration_lock.toml', content: 'provider = "postgresql"\n' },
    shadowDbInitScript: '',
    migrationDirectories: migrationNames.map((name) => ({
      path: name,
      migrationFile: {
        path: 'migration.sql',
        content: { tag: 'ok', value: readFileSync(join(migrationsDir, name, 'migration.sql'), 'utf8') },
      },
    })),
  }
}

/** Does something that only one process at a time may do to the database. */
export async function withLock<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5_000 })
  client.on('error', () => {}) // a connection that breaks fails the work itself; the lock goes with it
  await client.connect()
  try {
    await client.query('SELECT pg_advisory_lock($1)', [MIGRATION_LOCK])
    return await work(client)
  } finally {
    await client.end()
  }
}

/** Prisma's schema engine as WebAssembly, which reaches PostgreSQL through the pg adapter: nothing to download. */
async function withEngine<T>(url: string, work: (engine: schemaEngine.SchemaEngine) => Promise<T>): Promise<T> {
  await loadEngine()
  const { path, content } = await modelFile(model)
  const pool = new pg.Pool({ connectionString: url, connectionTimeoutMillis: 5_000 })
  pool.on('error', () => {}) // an idle connection that breaks is not the work's failure
  const adapter = bindMigrationAwareSqlAdapterFactory(new PrismaPg(pool))
  try {
    const engine = await schemaEngine.SchemaEngine.new({ datamodels: [[path, content]] }, () => {}, adapter)
    return await work(engine).finally(() => engine.free())
  } finally {
    await pool.end()
  }
}

let loading: Promise<void> | undefined

/** Compiles the WebAssembly once for the process, when the first migration needs it. */
function loadEngine(): Promise<void> {
  loading ??= (async () => {
    const glue = createRequire(import.meta.url).resolve('@prisma/schema-engine-wasm/schema_engine_bg')
    const wasm = join(dirname(glue), 'schema_engine_bg.wasm')
    const { exports } = await WebAssembly.instantiate(await WebAssembly.compile(await readFile(wasm)), {
      './schema_engine_bg.js': schemaEngine,
    })
    schemaEngine.__wbg_set_wasm(exports)
    exports.__wbindgen_start()
  })()
  return loading
}

/** The part of the WebAssembly interface used here; Node's types leave it to the DOM's. */
declare const WebAssembly: {
  compile(bytes: Uint8Array): Promise<object>
  instantiate(module: object, imports: object): Promise<{ exports: { __wbindgen_start(): void } }>
}
