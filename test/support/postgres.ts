import { randomUUID } from 'node:crypto'
import { accessSync, chmodSync, constants, cpSync, readFileSync, statfsSync } from 'node:fs'
import { chown, mkdtemp, readdir, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import type { TestProject } from 'vitest/node'
import { useEmbeddedPostgres } from '../../src/database/embedded.ts'
import { migrate } from '../../src/database/migrate.ts'

/** URL of a superuser of a running server, to test on it instead of the embedded PostgreSQL. */
export const givenUrl = process.env.TEST_DATABASE_URL

/** @returns SQL that creates the table of test/second-resource/ */
export const ordersMigration = () => readFileSync(new URL('../second-resource/migration.sql', import.meta.url), 'utf8')

declare module 'vitest' {
  export interface ProvidedContext {
    /** URL of a database on the tests' server that they only connect to. */
    serverUrl: string
    /** URL of an empty database with the current schema on that server. Tests work on clones of it. */
    templateUrl: string
    /** As `templateUrl`, with the table of test/second-resource/. */
    ordersTemplateUrl: string
    /** Folder of a PostgreSQL server that was stopped, whose database `postgres` has the current schema. */
    initialisedCluster: string
  }
}

/** Starts one PostgreSQL for the whole test run, unless TEST_DATABASE_URL leads to one, and migrates a template on it. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const dir = await mkdtemp(join(memoryFolder() ?? tmpdir(), 'pet-store-test-'))
  const first = await useEmbeddedPostgres(join(dir, 'first'), ['fsync=off'])
  await migrate(first.url)
  // By default each new connection hashes the password 4,096 times.
  const { password } = new URL(first.url)
  await query(first.url, `SET scram_iterations = 1; ALTER ROLE postgres PASSWORD '${password}'`)
  await first.release()
  const initialisedCluster = join(dir, 'first', 'postgres')
  const server = givenUrl ? { url: givenUrl, release: async () => {} } : await startServer(initialisedCluster, dir)
  const name = `template_${randomUUID().replaceAll('-', '')}`
  const urlOf = (database: string) => Object.assign(new URL(server.url), { pathname: database }).href
  await query(server.url, `CREATE DATABASE ${name} TEMPLATE template0`)
  await migrate(urlOf(name))
  await query(server.url, `CREATE DATABASE ${name}_orders TEMPLATE ${name}`)
  await query(urlOf(`${name}_orders`), ordersMigration())
  project.provide('serverUrl', server.url)
  project.provide('templateUrl', urlOf(name))
  project.provide('ordersTemplateUrl', urlOf(`${name}_orders`))
  project.provide('initialisedCluster', initialisedCluster)
  return async () => {
    await query(server.url, `DROP DATABASE ${name} WITH (FORCE)`)
    await query(server.url, `DROP DATABASE ${name}_orders WITH (FORCE)`)
    await server.release()
    await rm(dir, { recursive: true, force: true })
  }
}

async function startServer(initialisedCluster: string, dir: string) {
  await copyCluster(initialisedCluster, dir)
  return useEmbeddedPostgres(dir, ['max_connections=300', 'max_prepared_transactions=20'])
}

/** Executes SQL on a connection of its own. */
export async function inDatabase<T>(connectionString: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString })
  client.on('error', () => {})
  await client.connect()
  return work(client).finally(() => client.end())
}

export const query = (url: string, sql: string) => inDatabase(url, (client) => client.query(sql))

/** Copies the folder of a stopped server into an empty DATA_DIR, with its owner, which is faster than initdb. */
export async function copyCluster(cluster: string, dataDir: string): Promise<void> {
  const copy = join(dataDir, 'postgres')
  cpSync(cluster, copy, { recursive: true }) // the asynchronous one takes seven times as long
  chmodSync(copy, 0o700) // as PostgreSQL requires; Node 22 and 24 do not copy the mode of a folder
  if (process.getuid?.() !== 0) return
  const { uid, gid } = await stat(cluster)
  const paths = ['', ...(await readdir(copy, { recursive: true }))]
  await Promise.all(paths.map((path) => chown(join(copy, path), uid, gid)))
}

/** @returns a folder in memory, if it can be used and has enough space: a clone takes 10 ms there and 100 ms on a disk */
export function memoryFolder(): string | undefined {
  const folder = '/dev/shm'
  try {
    accessSync(folder, constants.W_OK)
    const { bavail, bsize } = statfsSync(folder)
    return bavail * bsize > 2 ** 31 ? folder : undefined
  } catch {
    return undefined
  }
}
