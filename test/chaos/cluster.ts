import { readFile } from 'node:fs/promises'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { createDatabase } from '../../src/database/client.ts'
import { useEmbeddedPostgres } from '../../src/database/embedded.ts'
import { migrate } from '../../src/database/migrate.ts'
import { createApiKeys, Scope } from '../../src/auth/api-keys.ts'
import { loadConfig } from '../../src/config.ts'
import { freePort, kill } from '../support/processes.ts'
import { GENEROUS_TIMEOUTS } from '../support/timeouts.ts'
import type { Defer } from './assertions.ts'

/** A PostgreSQL of our own that keeps its promises: on a disk, and flushed to it. It can be killed and comes back. */
export interface Cluster {
  url: string
  /** Ends it in one of its ways, and waits until it is gone: in order, at once, or by kill -9. */
  end(how: 'fast' | 'immediate' | 'kill'): Promise<void>
  /** Starts it again on the same port, recovering from a crash if there was one. */
  start(): Promise<void>
}

/** What `Cluster.end` sends to the postmaster (PostgreSQL's manual, "Shutting Down the Server"). */
const signals = { fast: 'SIGINT', immediate: 'SIGQUIT', kill: 'SIGKILL' } as const

export async function startCluster(defer: Defer, settings: string[] = []): Promise<Cluster> {
  const dir = await mkdtemp(join(tmpdir(), 'pet-store-chaos-'))
  defer(() => rm(dir, { recursive: true, force: true, maxRetries: 5 }))
  const port = await freePort()
  const use = () => useEmbeddedPostgres(dir, [`port=${port}`, ...settings])

  async function postmaster(): Promise<number> {
    return Number.parseInt(await readFile(join(dir, 'postgres', 'postmaster.pid'), 'utf8'), 10)
  }
  const { url } = await use()
  defer(() => end('immediate').catch(() => {})) // it is down already
  const durable = await inDatabase(url, (client) => client.query('SHOW fsync'))
  if (durable.rows[0].fsync !== 'on') throw new Error('This PostgreSQL does not flush to disk')

  async function end(how: keyof typeof signals): Promise<void> {
    const pid = await postmaster()
    process.kill(pid, signals[how])
    while (kill(pid, 0)) await sleep(2) // no child of ours: its end is no event here
  }

  return {
    url,
    end,
    async start() {
      await use()
    },
  }
}

/** A database with the current schema and a key. */
export interface TestDatabase {
  url: string
  key: string
}

/** Makes a database ready, new on the cluster unless it has a name already. */
export async function prepareDatabase(url: string): Promise<TestDatabase> {
  await migrate(url)
  return { url, key: await issueKey(url) }
}

export async function issueKey(url: string): Promise<string> {
  const { timeouts } = loadConfig(GENEROUS_TIMEOUTS)
  const database = createDatabase({ url, size: 1, timeouts })
  return createApiKeys(database)
    .issue('chaos', { scopes: Scope.options })
    .finally(() => database.close())
}

/** Runs SQL in a database. */
export async function inDatabase<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => {})
  await client.connect()
  return work(client).finally(() => client.end())
}

/** Every animal, read past the service. */
export async function animalsIn(url: string): Promise<{ id: string; name: string }[]> {
  const { rows } = await inDatabase(url, (client) =>
    client.query<{ id: string; name: string }>('SELECT id, name FROM animal'),
  )
  return rows
}

/** Until the service's statements are over, also those whose client has given up. */
export async function statementsFinished(url: string): Promise<void> {
  const busy = `SELECT count(*)::int AS n FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid() AND state <> 'idle'`
  await inDatabase(url, async (client) => {
    while ((await client.query(busy)).rows[0].n > 0) await sleep(20)
  })
}
