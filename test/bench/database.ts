import { execFile, execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { existsSync, statfsSync } from 'node:fs'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import pg from 'pg'
import { useEmbeddedPostgres } from '../../src/database/embedded.ts'
import type { Cleanup } from './cleanup.ts'
import { coresFor, root } from './paths.ts'
import { insertRows } from './rows.ts'

/** The PostgreSQL of a run: its own, or the server of TEST_DATABASE_URL. */
export interface Postgres {
  /** Undefined for a given server. */
  pid: number | undefined
  /** The one bearer key, which is known in every database. */
  key: string
  /** A folder on the same disk that goes when the run ends. */
  dir: string
  /** Makes a database with rows 1 to count. @returns its address */
  create(name: string, count: number): Promise<string>
}

/** Everything that makes a write durable is on. Checkpoints and vacuum run between measurements, not in them. */
const settings = [
  ...['fsync=on', 'synchronous_commit=on', 'full_page_writes=on'],
  ...['max_connections=300', 'shared_buffers=512MB', 'max_wal_size=8GB', 'checkpoint_timeout=1h', 'autovacuum=off'],
]

export async function startPostgres(cleanup: Cleanup): Promise<Postgres> {
  const dir = await mkdtemp(join(folderOnDisk(), 'pet-store-bench-'))
  cleanup.add(() => rm(dir, { recursive: true, force: true, maxRetries: 5 }))
  const givenUrl = process.env.TEST_DATABASE_URL
  const { url: serverUrl, pid } = givenUrl ? { url: givenUrl, pid: undefined } : await startEmbedded(dir, cleanup)

  const prefix = `bench_${randomUUID().replaceAll('-', '')}`
  const address = (name: string) => Object.assign(new URL(serverUrl), { pathname: `${prefix}_${name}` }).href
  const createDatabase = async (name: string, template: string) => {
    cleanup.add(() => runSql(serverUrl, [`DROP DATABASE IF EXISTS ${prefix}_${name} WITH (FORCE)`]))
    await runSql(serverUrl, [`CREATE DATABASE ${prefix}_${name} TEMPLATE ${template}`])
  }

  await createDatabase('template', 'template0')
  await builtProgram(address('template'), 'cli/migrate.js', 'deploy')
  const key = await builtProgram(address('template'), 'cli/keys.js', 'create', '--name', 'bench')

  return {
    pid,
    dir,
    key,
    async create(name, count) {
      await createDatabase(name, `${prefix}_template`)
      await runSql(address(name), [insertRows.replace('$1', String(count)), 'VACUUM ANALYZE animal', 'CHECKPOINT'])
      return address(name)
    },
  }
}

async function startEmbedded(dir: string, cleanup: Cleanup): Promise<{ url: string; pid: number }> {
  const server = await useEmbeddedPostgres(dir, settings)
  cleanup.add(() => server.release())
  const pid = Number.parseInt(await readFile(join(dir, 'postgres', 'postmaster.pid'), 'utf8'), 10)
  const cores = coresFor()
  if (cores) execFileSync('taskset', ['-a', '-p', '-c', cores.others, String(pid)])
  return { url: server.url, pid }
}

/** How many rows there are beyond those that there were. */
export async function countCreated(url: string, count: number): Promise<number> {
  const result = await runSql(url, [`SELECT count(*)::int AS created FROM animal WHERE id > ${count}`])
  return Number(result?.rows[0].created)
}

/** How long a table must stay as it is before what was sent to it has surely arrived, in milliseconds. */
const SETTLED_MS = 300

/**
 * Takes away what was created beyond the rows that were there, so that each variant begins with the same table. What
 * the load sent last may still be on its way when it ends, and is waited for.
 */
export async function restoreRows(url: string, count: number): Promise<void> {
  let before = -1
  for (let now = await countCreated(url, count); now !== before; now = await countCreated(url, count)) {
    before = now
    await sleep(SETTLED_MS)
  }
  await runSql(url, [
    `DELETE FROM animal WHERE id > ${count}`,
    'VACUUM animal',
    `SELECT setval('animal_id_seq', ${count})`,
    'CHECKPOINT',
  ])
}

export async function runSql(url: string, statements: string[]): Promise<pg.QueryResult | undefined> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  let last: pg.QueryResult | undefined
  try {
    for (const statement of statements) last = await client.query(statement)
    return last
  } finally {
    await client.end()
  }
}

/** @returns what a program of dist/ prints */
async function builtProgram(databaseUrl: string, program: string, ...args: string[]): Promise<string> {
  const env = { PATH: process.env.PATH, NODE_ENV: 'production', DATABASE_URL: databaseUrl }
  const { stdout } = await promisify(execFile)(process.execPath, [join(root, 'dist', program), ...args], { env })
  return stdout.trim()
}

/** In memory a commit would cost nothing. */
function folderOnDisk(): string {
  const TMPFS = 0x01021994
  const folder = [tmpdir(), '/var/tmp'].find((one) => existsSync(one) && statfsSync(one).type !== TMPFS)
  if (!folder) throw new Error('No temporary folder is on a disk: set TMPDIR to one that is.')
  return folder
}
