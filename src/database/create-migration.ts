import { copyFile, mkdir, readFile, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { PrismaPg } from '@prisma/adapter-pg'
import { bindMigrationAwareSqlAdapterFactory } from '@prisma/driver-adapter-utils'
import * as schemaEngine from '@prisma/schema-engine-wasm/schema_engine_bg'
import { PRISMA_DIR } from './migrate.ts'

const MODEL = join(PRISMA_DIR, 'schema.prisma')
/** The data model after the last migration, from which the next one starts. */
const MIGRATED_MODEL = join(PRISMA_DIR, 'migrations/schema.prisma')

/**
 * Creates the migration from the model of the last migration to schema.prisma. Prisma's schema engine (WebAssembly)
 * compares the two models; from the database it reads only the version. It leaves a timer of ten seconds running.
 * @returns the new folder's name, or undefined when the models are equal
 */
export async function createMigration(url: string, name: string): Promise<string | undefined> {
  const models = { from: await readFile(MIGRATED_MODEL, 'utf8'), to: await readFile(MODEL, 'utf8') }
  const script = await diff(url, models.from, models.to)
  if (!script) return undefined
  const folder = `${new Date().toISOString().replace(/\D/g, '').slice(0, 14)}_${name}`
  await mkdir(join(PRISMA_DIR, 'migrations', folder))
  await writeFile(join(PRISMA_DIR, 'migrations', folder, 'migration.sql'), script)
  await copyFile(MODEL, MIGRATED_MODEL)
  return folder
}

/** @returns the SQL that migrates from one data model to another; undefined when they are equal */
async function diff(url: string, from: string, to: string): Promise<string | undefined> {
  await loadEngine()
  const model = (content: string) => ({ tag: 'schemaDatamodel' as const, files: [{ path: MODEL, content }] })
  const adapter = bindMigrationAwareSqlAdapterFactory(new PrismaPg({ connectionString: url }))
  const engine = await schemaEngine.SchemaEngine.new({ datamodels: [[MODEL, to]] }, () => {}, adapter)
  const filters = { externalTables: [], externalEnums: [] }
  const models = { from: model(from), to: model(to) }
  const { exitCode, stdout } = await engine.diff({ ...models, script: true, exitCode: true, filters })
  return exitCode === 0 ? undefined : (stdout ?? undefined)
}

async function loadEngine(): Promise<void> {
  const glue = createRequire(import.meta.url).resolve('@prisma/schema-engine-wasm/schema_engine_bg')
  const wasm = join(dirname(glue), 'schema_engine_bg.wasm')
  const { exports } = await WebAssembly.instantiate(await WebAssembly.compile(await readFile(wasm)), {
    './schema_engine_bg.js': schemaEngine,
  })
  schemaEngine.__wbg_set_wasm(exports)
  exports.__wbindgen_start()
}

/** The part of the WebAssembly interface used here: it is in the DOM's types, not in Node's. */
declare const WebAssembly: {
  compile(bytes: Uint8Array): Promise<object>
  instantiate(module: object, imports: object): Promise<{ exports: { __wbindgen_start(): void } }>
}
