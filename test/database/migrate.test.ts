import { readFileSync } from 'node:fs'
import pg from 'pg'
import { expect, test, vi } from 'vitest'
import { migrate, migrationNames, pendingMigrations, withLock } from '../../src/database/migrate.ts'
import { cloneDatabase, dropDatabase } from '../harness.ts'

const scriptOf = (name: string) =>
  readFileSync(new URL(`../../prisma/migrations/${name}/migration.sql`, import.meta.url), 'utf8')

async function withDatabase(work: (client: pg.Client, url: string) => Promise<void>): Promise<void> {
  const url = await cloneDatabase()
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await work(client, url)
  await client.end()
  await dropDatabase(url)
}

test.for(migrationNames)('%s marks itself finished in its own transaction', (name) => {
  const script = scriptOf(name)
  expect(script.trimEnd().split('\n').at(-1)).toContain(`WHERE "migration_name" = '${name}' AND "finished_at" IS NULL;`)
  expect(script).not.toMatch(/\b(BEGIN|COMMIT|CONCURRENTLY)\b/i)
})

test('a migration that was cut off before its commit is applied by the next run', async () => {
  await withDatabase(async (client, url) => {
    await client.query('DROP TABLE idempotency_key, animal, api_key, rate_limit; DROP TYPE pet_status')
    await client.query('DELETE FROM _prisma_migrations WHERE migration_name <> $1', [migrationNames[0]])
    await client.query('UPDATE _prisma_migrations SET finished_at = NULL')
    expect(await pendingMigrations(client)).toEqual(migrationNames)
    expect(await migrate(url)).toEqual(migrationNames)
    expect(await pendingMigrations(client)).toEqual([])
    await client.query('SELECT * FROM idempotency_key, animal, api_key')
  })
})

test('a migration that was cut off after its commit counts as applied', async () => {
  await withDatabase(async (client, url) => {
    const [last = ''] = migrationNames.slice(-1)
    // What the script does by itself, in its transaction, whatever becomes of the process that sent it.
    await client.query('UPDATE _prisma_migrations SET finished_at = NULL WHERE migration_name = $1', [last])
    await client.query(scriptOf(last).trimEnd().split('\n').at(-1) ?? '')
    expect(await migrate(url)).toEqual([])
  })
})

test('nobody touches the history while somebody migrates', async () => {
  await withDatabase(async (client, url) => {
    const unfinished = 'SELECT count(*)::int AS n FROM _prisma_migrations WHERE rolled_back_at IS NULL'
    let migrating: Promise<string[]> | undefined
    await withLock(url, async () => {
      await client.query('UPDATE _prisma_migrations SET finished_at = NULL') // as while they are being applied
      migrating = migrate(url)
      const waiting =
        "SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
      await vi.waitUntil(async () => (await client.query(waiting)).rowCount === 1, 5_000)
      expect((await client.query(unfinished)).rows).toEqual([{ n: migrationNames.length }])
      await client.query('UPDATE _prisma_migrations SET finished_at = now()')
    })
    expect(await migrating).toEqual([])
  })
})
