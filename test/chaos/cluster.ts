import { readFile } from 'node:fs/promises'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { createDatabase } from '../../src/database/database.ts'
import { useEmbeddedPostgres } from '../../src/database/embedded.ts'
import { migrate } from '../../src/database/migrate.ts'
import { type ApiKeys, createApiKeys } from '../../src/auth/api-keys.ts'
import { loadConfig } from '../../src/config/config.ts'
import { inDatabase } from '../support/postgres.ts'
import { freePort, kill } from '../support/processes.ts'
import { limitsOf } from '../../src/config/limits.ts'
import { GENEROUS_TIMEOUTS } from '../support/timeouts.ts'
import type { Defer } from './assertions.ts'

/** A durable PostgreSQL (fsync on, data on a disk) that can be stopped, killed and started again. */
export interface Cluster {
  url: string
  /** Stops it in one of the shutdown modes of PostgreSQL, or with SIGKILL, and waits until it has exited. */
  stop(mode: 'fast' | 'immediate' | 'kill'): Promise<void>
  /** Starts it again on the same port, with crash recovery if necessary. */
  start(): Promise<void>
}

/** The signal to the postmaster by mode (PostgreSQL's manual, "Shutting Down the Server"). */
const signals = { fast: 'SIGINT', immediate: 'SIGQUIT', kill: 'SIGKILL' } as const

export async function startCluster(defer: Defer, settings: string[] = []): Promise<Cluster> {
  const dir = await mkdtemp(join(tmpdir(), 'pet-store-chaos-'))
  defer(() => rm(dir, { recursive: true, force: true, maxRetries: 5 }))
  const port = await freePort()
  const startServer = () => useEmbeddedPostgres(dir, [`port=${port}`, ...settings])

  async function postmasterPid(): Promise<number> {
    return Number.parseInt(await readFile(join(dir, 'postgres', 'postmaster.pid'), 'utf8'), 10)
  }
  const { url } = await startServer()
  defer(() => stop('immediate').catch(() => {})) // it fails if the server is stopped already
  const setting = await inDatabase(url, (client) => client.query('SHOW fsync'))
  if (setting.rows[0].fsync !== 'on') throw new Error('This PostgreSQL does not flush to disk')

  async function stop(mode: keyof typeof signals): Promise<void> {
    const pid = await postmasterPid()
    process.kill(pid, signals[mode])
    while (kill(pid, 0)) await sleep(2) // not a child process, so there is no exit event
  }

  return {
    url,
    stop,
    async start() {
      await startServer()
    },
  }
}

/** A database with the current schema and a key. */
export interface TestDatabase {
  url: string
  key: string
}

/** Migrates a database and issues a key. */
export async function prepareDatabase(url: string): Promise<TestDatabase> {
  await migrate(url)
  return { url, key: await issueKey(url) }
}

export function issueKey(url: string): Promise<string> {
  return withApiKeys(url, (keys) => keys.issue('chaos', { scopes: keys.scopes }))
}

/** Issues or revokes keys, as `npm run keys` does. */
export async function withApiKeys<T>(url: string, work: (keys: ApiKeys) => Promise<T>): Promise<T> {
  const timeouts = limitsOf(loadConfig(GENEROUS_TIMEOUTS))
  const database = createDatabase({ url, size: 1, timeouts })
  return work(createApiKeys(database, ['pets:read', 'pets:write'])).finally(() => database.close())
}

/** @returns every animal, read directly from the database */
export async function animalsIn(url: string): Promise<{ id: string; name: string }[]> {
  const { rows } = await inDatabase(url, (client) =>
    client.query<{ id: string; name: string }>('SELECT id, name FROM animal'),
  )
  return rows
}

/** Waits until no statement of the service is running, including statements whose client has disconnected. */
export async function statementsFinished(url: string): Promise<void> {
  const busy = `SELECT count(*)::int AS n FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid() AND state <> 'idle'`
  await inDatabase(url, async (client) => {
    while ((await client.query(busy)).rows[0].n > 0) await sleep(20)
  })
}
