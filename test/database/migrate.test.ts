import { createHash } from 'node:crypto'
import { describe, expect } from 'vitest'
import { listMigrations, migrate, pendingMigrations, withMigrationLock } from '../../src/database/migrate.ts'
import { read } from '../support/files.ts'
import {
  databaseOf,
  testWithService as testAlone,
  testWithSharedService as test,
  withClient,
} from '../support/harness.ts'
import { waitUntil } from '../support/timeouts.ts'

const migrations = listMigrations()
const scriptOf = (name: string) => read(`prisma/migrations/${name}/migration.sql`)

test.for(migrations)('%s only adds, so that an older version can go on, in one transaction or by one index', (name) => {
  const script = scriptOf(name)
    .replace('DROP INDEX IF EXISTS "animal_category_id_status_id_idx"', '') // never released
    .replace('ALTER COLUMN "animal_id" DROP NOT NULL', '') // it allows more
  expect(script).not.toMatch(/\b(DROP|RENAME|ALTER COLUMN)\b/i)
  const index = /^(--.*\n)*CREATE (UNIQUE )?INDEX CONCURRENTLY "[^;]*;\n$/
  if (!index.test(scriptOf(name))) expect(scriptOf(name)).not.toMatch(/\b(BEGIN|COMMIT|CONCURRENTLY)\b/i)
})

testAlone('an interrupted migration is rolled back, and is applied by the next run', async ({ service }) => {
  const { pool } = service.database
  await pool.query(`
    CREATE SCHEMA kept; ALTER TABLE _prisma_migrations SET SCHEMA kept;
    DROP SCHEMA public CASCADE; ALTER SCHEMA kept RENAME TO public`)
  await pool.query('DELETE FROM _prisma_migrations WHERE migration_name <> $1', [migrations[0]])
  await pool.query('UPDATE _prisma_migrations SET finished_at = NULL') // as Prisma's CLI leaves it
  // The second migration fails: the first is applied, nothing of the second is.
  await pool.query('CREATE TABLE idempotency_key (id int)')
  await expect(migrate(service.databaseUrl)).rejects.toThrow(
    `The migration ${migrations[1]} failed: relation "idempotency_key" already exists`,
  )
  expect(await pendingMigrations(pool)).toEqual(migrations.slice(1))
  await pool.query('DROP TABLE idempotency_key')
  expect(await migrate(service.databaseUrl)).toEqual(migrations.slice(1))
  expect(await pendingMigrations(pool)).toEqual([])
  await pool.query('SELECT * FROM idempotency_key, animal, api_key')
})

testAlone('a migration that waits for the lock of a table gives way to requests', async ({ service }) => {
  const { pool } = service.database
  await pool.query('DELETE FROM _prisma_migrations WHERE migration_name = $1', [migrations.at(-1)])
  await pool.query('ALTER TABLE idempotency_key DROP COLUMN resource, DROP COLUMN row_id')
  await withClient(async (client) => {
    await client.query('BEGIN; SELECT FROM idempotency_key') // as pg_dump
    const failure = `The migration ${migrations.at(-1)} failed: canceling statement due to lock timeout`
    await expect(migrate(service.databaseUrl)).rejects.toThrow(failure)
    await client.query('COMMIT')
  }, service.databaseUrl)
  expect(await migrate(service.databaseUrl)).toEqual([migrations.at(-1)])
})

describe('an index', () => {
  const INDEX = 'animal_category_id_id_idx'
  const name = migrations.find((one) => scriptOf(one).includes(`CREATE INDEX CONCURRENTLY "${INDEX}"`)) ?? ''
  const forget = 'DELETE FROM _prisma_migrations WHERE migration_name = $1'
  const state = `SELECT indexrelid AS id, indisvalid AS valid FROM pg_index WHERE indexrelid = to_regclass('${INDEX}')`

  test('is created while animals are added, by one of several processes', async ({ service }) => {
    const { pool } = service.database
    await pool.query(`DROP INDEX ${INDEX}`)
    await pool.query(forget, [name])
    await withClient(async (client) => {
      await client.query("BEGIN; INSERT INTO animal (name, category_id) VALUES ('Rex', 1)") // the index waits for its end
      const migrating = Promise.all(Array.from({ length: 3 }, () => migrate(service.databaseUrl)))
      const creating = "SELECT FROM pg_stat_activity WHERE query LIKE '%CONCURRENTLY%' AND pid <> pg_backend_pid()"
      await waitUntil(async () => (await pool.query(creating)).rowCount === 1)
      await service.create()
      await client.query('COMMIT')
      expect((await migrating).flat()).toEqual([name])
    }, service.databaseUrl)
    expect((await pool.query(state)).rows).toMatchObject([{ valid: true }])
  })

  test('that exists is kept, and created again after an interrupted attempt', async ({ service }) => {
    const { pool } = service.database
    const [before] = (await pool.query(state)).rows
    await pool.query(forget, [name])
    expect(await migrate(service.databaseUrl)).toEqual([name])
    expect((await pool.query(state)).rows).toEqual([before])
    await pool.query('UPDATE pg_index SET indisvalid = false WHERE indexrelid = $1', [before.id])
    await pool.query(forget, [name])
    expect(await migrate(service.databaseUrl)).toEqual([name])
    const [after] = (await pool.query(state)).rows
    expect([after.valid, after.id === before.id]).toEqual([true, false])
  })
})

test('the history equals what Prisma records', async ({ service }) => {
  const { rows } = await service.database.pool.query(
    'SELECT migration_name AS name, checksum, logs, rolled_back_at, applied_steps_count AS steps FROM _prisma_migrations ORDER BY 1',
  )
  const checksumOf = (name: string) => createHash('sha256').update(scriptOf(name)).digest('hex')
  expect(rows).toEqual(
    migrations.map((name) => ({ name, checksum: checksumOf(name), logs: null, rolled_back_at: null, steps: 1 })),
  )
})

test('limits of the role do not apply to migrations', async ({ service }) => {
  const { database, databaseUrl } = service
  const role = `ALTER ROLE ${new URL(databaseUrl).username} IN DATABASE ${databaseOf(service)}`
  // PostgreSQL 17 and newer have transaction_timeout, too.
  const { rows } = await database.pool.query<{ name: string }>(
    "SELECT name FROM pg_settings WHERE name ~ '^(lock|statement|transaction|idle_in_transaction_session)_timeout$'",
  )
  const names = rows.map(({ name }) => name)
  expect(names).toContain('statement_timeout')
  for (const name of names) await database.pool.query(`${role} SET ${name} = '1s'`)
  const limits = await withMigrationLock(databaseUrl, (migrating) =>
    migrating.query('SELECT setting FROM pg_settings WHERE name = ANY($1)', [names]),
  )
  expect(limits.rows).toEqual(names.map(() => ({ setting: '0' })))
})

test('while the schema public is missing, as in a restore, /readyz is 503', async ({ service }) => {
  await service.database.pool.query('ALTER SCHEMA public RENAME TO lost')
  const response = await service.send('/readyz')
  expect([response.status, await response.text()]).toEqual([503, expect.stringContaining('The schema lacks')])
})
