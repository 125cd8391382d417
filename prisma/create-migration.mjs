// `npm run migrate -- create NAME`. A development tool: production installs have neither its dependencies nor a use for it.
import { copyFile, mkdir, readFile, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { PrismaPg } from '@prisma/adapter-pg'
import { bindMigrationAwareSqlAdapterFactory } from '@prisma/driver-adapter-utils'
import * as schemaEngine from '@prisma/schema-engine-wasm/schema_engine_bg'

const folder = new URL('migrations/', import.meta.url)
const model = new URL('schema.prisma', import.meta.url)
/** The data model after the last migration. */
const migratedModel = new URL('schema.prisma', folder)

/**
 * Creates the migration from the model of the last migration to schema.prisma. Prisma's schema engine (WebAssembly)
 * compares the two models; from the database it reads only the version. It leaves a timer of ten seconds running.
 * @returns the new folder's name; undefined when the models are equal
 */
export async function createMigration(url, name) {
  const script = await diff(url, await readFile(migratedModel, 'utf8'), await readFile(model, 'utf8'))
  if (!script) return undefined
  const migration = `${new Date().toISOString().replace(/\D/g, '').slice(0, 14)}_${name}`
  await mkdir(new URL(migration, folder))
  await writeFile(new URL(`${migration}/migration.sql`, folder), script)
  await copyFile(model, migratedModel)
  return migration
}

/** @returns the SQL that migrates from one data model to another; undefined when they are equal */
async function diff(url, from, to) {
  await loadEngine()
  const path = model.pathname
  const toModel = (content) => ({ tag: 'schemaDatamodel', files: [{ path, content }] })
  const adapter = bindMigrationAwareSqlAdapterFactory(new PrismaPg({ connectionString: url }))
  const engine = await schemaEngine.SchemaEngine.new({ datamodels: [[path, to]] }, () => {}, adapter)
  const filters = { externalTables: [], externalEnums: [] }
  const models = { from: toModel(from), to: toModel(to) }
  const { exitCode, stdout } = await engine.diff({ ...models, script: true, exitCode: true, filters })
  return exitCode === 0 ? undefined : (stdout ?? undefined)
}

async function loadEngine() {
  const glue = createRequire(import.meta.url).resolve('@prisma/schema-engine-wasm/schema_engine_bg')
  const wasm = await readFile(join(dirname(glue), 'schema_engine_bg.wasm'))
  const { instance } = await WebAssembly.instantiate(wasm, { './schema_engine_bg.js': schemaEngine })
  schemaEngine.__wbg_set_wasm(instance.exports)
  instance.exports.__wbindgen_start()
}
