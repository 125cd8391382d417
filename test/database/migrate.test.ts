import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import pg from 'pg'
import { expect, test } from 'vitest'
import { listMigrations, migrate, pendingMigrations, withMigrationLock } from '../../src/database/migrate.ts'
import { cloneDatabase, dropDatabase } from '../support/harness.ts'
import { waitUntil } from '../support/timeouts.ts'

const migrations = listMigrations()
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

test.for(migrations)('%s can run in one transaction', (name) => {
  expect(scriptOf(name)).not.toMatch(/\b(BEGIN|COMMIT|CONCURRENTLY)\b/i)
})

test('an interrupted migration is rolled back, and is applied by the next run', async () => {
  await withDatabase(async (client, url) => {
    await client.query('DROP TABLE idempotency_key, animal, api_key, rate_limit; DROP TYPE pet_status')
    await client.query('DELETE FROM _prisma_migrations WHERE migration_name <> $1', [migrations[0]])
    await client.query('UPDATE _prisma_migrations SET finished_at = NULL') // as Prisma's CLI leaves it
    // The second migration fails: the first is applied, nothing of the second is.
    await client.query('CREATE TABLE idempotency_key (id int)')
    await expect(migrate(url)).rejects.toThrow('already exists')
    expect(await pendingMigrations(client)).toEqual(migrations.slice(1))
    await client.query('DROP TABLE idempotency_key')
    expect(await migrate(url)).toEqual(migrations.slice(1))
    expect(await pendingMigrations(client)).toEqual([])
    await client.query('SELECT * FROM idempotency_key, animal, api_key')
  })
})

test('the history equals what Prisma records', async () => {
  await withDatabase(async (client) => {
    const { rows } = await client.query(
      'SELECT migration_name AS name, checksum, logs, rolled_back_at, applied_steps_count AS steps FROM _prisma_migrations ORDER BY 1',
    )
    const checksumOf = (name: string) => createHash('sha256').update(scriptOf(name)).digest('hex')
    expect(rows).toEqual(
      migrations.map((name) => ({ name, checksum: checksumOf(name), logs: null, rolled_back_at: null, steps: 1 })),
    )
  })
})

test('limits of the role do not apply to migrations', async () => {
  await withDatabase(async (client, url) => {
    const { pathname, username } = new URL(url)
    const role = `ALTER ROLE ${username} IN DATABASE ${pathname.slice(1)}`
    await client.query(`${role} SET statement_timeout = '1s'; ${role} SET lock_timeout = '2s'`)
    const limits = await withMigrationLock(url, (migrating) =>
      migrating.query("SELECT name, setting FROM pg_settings WHERE name IN ('lock_timeout', 'statement_timeout')"),
    )
    expect(limits.rows.map(({ setting }) => setting)).toEqual(['0', '0'])
  })
})

test('migrations are serialised by the lock', async () => {
  await withDatabase(async (client, url) => {
    let migrating: Promise<string[]> | undefined
    await withMigrationLock(url, async () => {
      await client.query('UPDATE _prisma_migrations SET finished_at = NULL') // as while they are being applied
      migrating = migrate(url)
      const waiting =
        "SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
      await waitUntil(async () => (await client.query(waiting)).rowCount === 1)
      await client.query('UPDATE _prisma_migrations SET finished_at = now()')
    })
    expect(await migrating).toEqual([])
  })
})
