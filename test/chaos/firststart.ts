import { randomUUID } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { createClient } from './client.ts'
import { issueKey, startCluster } from './cluster.ts'
import { inDatabase } from '../support/postgres.ts'
import { definePart, type Defer, exactly, type Measurement, info } from './assertions.ts'
import { PATIENT, startInstance } from './instance.ts'

const migrations = readdirSync(new URL('../../prisma/migrations', import.meta.url)).filter((name) =>
  /^\d{14}_/.test(name),
)

/** Instances start concurrently on an empty database with MIGRATE_ON_START: one migrates it, all serve. */
export const firststart = definePart({ rounds: 10, instances: 8 }, async (defer, sizes) => {
  const { url } = await startCluster(defer)
  return startTogether(defer, url, sizes)
})

/** @param serverUrl URL of any database on the server on which the empty databases are created */
export async function startTogether(
  defer: Defer,
  serverUrl: string,
  { rounds, instances }: { rounds: number; instances: number },
): Promise<Measurement[]> {
  let [ready, alive, wrongHistory, unserved, slowestMs] = [0, 0, 0, 0, 0]
  for (let round = 0; round < rounds; round++) {
    const url = await emptyDatabase(defer, serverUrl)
    const startedAt = performance.now()
    const env = { ...PATIENT, DATABASE_URL: url, MIGRATE_ON_START: 'true', DATABASE_POOL_SIZE: 2 }
    const started = await Promise.all(Array.from({ length: instances }, () => startInstance(defer, env)))
    slowestMs = Math.max(slowestMs, performance.now() - startedAt)
    ready += started.length
    const history = await inDatabase(url, (sql) =>
      sql.query('SELECT migration_name, finished_at, rolled_back_at FROM _prisma_migrations ORDER BY migration_name'),
    )
    const names = history.rows.map((row) => row.migration_name as string) // the column is NOT NULL text
    const allFinished = history.rows.every((row) => row.finished_at !== null && row.rolled_back_at === null)
    if (!allFinished || names.join() !== migrations.join()) wrongHistory++
    const key = await issueKey(url)
    for (const instance of started) {
      const client = createClient(instance.port, key)
      if ((await client.send('GET', '/v1/pets')).body !== '[]') unserved++
      client.close()
      if (instance.alive()) alive++
    }
    await Promise.all(started.map((instance) => instance.stop('SIGKILL')))
  }
  return [
    info('starts on an empty database', rounds),
    exactly('instances ready', ready, rounds * instances),
    exactly('… that did not serve requests', unserved, 0),
    exactly('… that never restarted', alive, rounds * instances),
    exactly('migration histories other than each migration once', wrongHistory, 0),
    info('longest time until all were ready', slowestMs, 'ms'),
  ]
}

async function emptyDatabase(defer: Defer, serverUrl: string): Promise<string> {
  const url = new URL(serverUrl)
  const runOnServer = (text: string) => {
    const server = new URL(serverUrl)
    server.pathname = 'template1'
    return inDatabase(server.href, (sql) => sql.query(text))
  }
  url.pathname = `test_${randomUUID().replaceAll('-', '')}`
  await runOnServer(`CREATE DATABASE ${url.pathname.slice(1)} TEMPLATE template0`)
  defer(async () => void (await runOnServer(`DROP DATABASE ${url.pathname.slice(1)} WITH (FORCE)`)))
  return url.href
}
