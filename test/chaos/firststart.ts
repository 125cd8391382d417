import { randomUUID } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { createClient } from './client.ts'
import { inDatabase, issueKey, startCluster } from './cluster.ts'
import { definePart, type Defer, exactly, type Measurement, info } from './assertions.ts'
import { startInstance } from './instance.ts'

const migrations = readdirSync(new URL('../../prisma/migrations', import.meta.url)).filter((name) =>
  /^\d{14}_/.test(name),
)

/** Instances start at once on an empty database, each told to migrate it: one does, all serve. */
export const firststart = definePart({ rounds: 10, instances: 8 }, async (defer, sizes) => {
  const { url } = await startCluster(defer)
  return startTogether(defer, url, sizes)
})

/** @param serverUrl of any database on the server; the empty ones are made beside it */
export async function startTogether(
  defer: Defer,
  serverUrl: string,
  { rounds, instances }: { rounds: number; instances: number },
): Promise<Measurement[]> {
  let [ready, alive, wrongHistory, unserved, slowestMs] = [0, 0, 0, 0, 0]
  for (let round = 0; round < rounds; round++) {
    const url = await emptyDatabase(defer, serverUrl)
    const began = performance.now()
    const env = { DATABASE_URL: url, MIGRATE_ON_START: 'true', DATABASE_POOL_SIZE: 2 }
    const started = await Promise.all(Array.from({ length: instances }, () => startInstance(defer, env)))
    slowestMs = Math.max(slowestMs, performance.now() - began)
    ready += started.length
    const history = await inDatabase(url, (sql) =>
      sql.query('SELECT migration_name, finished_at, rolled_back_at FROM _prisma_migrations ORDER BY migration_name'),
    )
    const names = history.rows.map((row) => row.migration_name as string) // it is NOT NULL text
    const clean = history.rows.every((row) => row.finished_at !== null && row.rolled_back_at === null)
    if (!clean || names.join() !== migrations.join()) wrongHistory++
    const key = await issueKey(url)
    for (const instance of started) {
      const client = createClient(instance.port, key)
      if ((await client.send('GET', '/v1/pets')).body !== '[]') unserved++
      client.close()
      if (instance.alive()) alive++
    }
    await Promise.all(started.map((instance) => instance.end('SIGKILL')))
  }
  return [
    info('starts of an empty database', rounds),
    exactly('instances ready', ready, rounds * instances),
    exactly('… that did not serve', unserved, 0),
    exactly('… alive, never restarted', alive, rounds * instances),
    exactly('histories other than each migration once', wrongHistory, 0),
    info('longest until all were ready', slowestMs, 'ms'),
  ]
}

async function emptyDatabase(defer: Defer, serverUrl: string): Promise<string> {
  const url = new URL(serverUrl)
  const onServer = (text: string) => {
    const server = new URL(serverUrl)
    server.pathname = 'template1'
    return inDatabase(server.href, (sql) => sql.query(text))
  }
  url.pathname = `test_${randomUUID().replaceAll('-', '')}`
  await onServer(`CREATE DATABASE ${url.pathname.slice(1)} TEMPLATE template0`)
  defer(async () => void (await onServer(`DROP DATABASE ${url.pathname.slice(1)} WITH (FORCE)`)))
  return url.href
}
