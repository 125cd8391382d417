import { expect } from 'vitest'
import { migrate } from '../../src/database/migrate.ts'
import { createWriterWait } from '../../src/feed/writers.ts'
import { animals } from '../../src/pets/animal.ts'
import { codeIn } from '../support/files.ts'
import { type TestService, testWithService as test, testWithSharedService, withClient } from '../support/harness.ts'

const [sql = ''] = codeIn('docs/scaling.md')

/** The SQL of the page, with bounds that few animals reach. */
const partition = sql.replaceAll(/\b(\d)00000000\b/g, '$10')

/** A test on a partitioned table, with a service that all of them share. */
const testPartitioned = testWithSharedService.extend<{ partitioned: TestService }>({
  partitioned: [
    async ({ service }, use) => {
      await service.database.pool.query(partition)
      await use(service)
    },
    { scope: 'file' },
  ],
})

async function createAnimals({ post }: TestService, names: string[]): Promise<void> {
  for (const name of names)
    expect((await post({ name, categoryId: 1, status: 'sold' }, { 'Idempotency-Key': name })).status).toBe(201)
}

test('docs/scaling.md converts a table with animals, and the service works on its partitions', async ({ service }) => {
  const names = Array.from({ length: 25 }, (_, n) => `animal-${n + 1}`)
  await createAnimals(service, names.slice(0, 5))
  await service.database.pool.query(partition)
  await createAnimals(service, names.slice(5))
  await createAnimals(service, names) // replays, of both sides

  const { rows } = await service.database.pool.query(
    'SELECT tableoid::regclass::text AS name, count(*)::int FROM animal GROUP BY 1 ORDER BY 1',
  )
  expect(rows).toEqual([
    { name: 'animal_0', count: 9 },
    { name: 'animal_1', count: 10 },
    { name: 'animal_2', count: 6 },
  ])
  const { data } = await service.graphql('{ pets(categoryId: 1, first: 100) { nodes { name } totalCount } }')
  expect(data).toEqual({ pets: { nodes: names.toReversed().map((name) => ({ name })), totalCount: 25 } })
  for (const filter of ['', '&status=sold']) {
    const response = await service.send(`/v1/pets?limit=100${filter}`)
    const body: { name: string }[] = await response.json()
    expect(body.map(({ name }) => name)).toEqual(names.toReversed())
  }
})

testPartitioned('a migration that creates an index finds the one of a partitioned table', async ({ partitioned }) => {
  const { pool } = partitioned.database
  const { rows } = await pool.query(
    "DELETE FROM _prisma_migrations WHERE migration_name LIKE '%index%' RETURNING migration_name AS name",
  )
  expect(await migrate(partitioned.databaseUrl)).toEqual(rows.map(({ name }) => name))
})

testPartitioned('an open insert into a partition holds a lock that subscriptions wait for', async ({ partitioned }) => {
  await withClient(async (client) => {
    await client.query("BEGIN; INSERT INTO animal_0 (name, category_id) VALUES ('Rex', 1)")
    const wait = await createWriterWait(animals, partitioned.database.statements.readRows)()
    expect(wait.isOver).toBe(false)
    await client.query('COMMIT')
    await wait.update()
    expect(wait.isOver).toBe(true)
  }, partitioned.databaseUrl)
})

testPartitioned('subscriptions notice that partitions were truncated, as a restore does', async ({ partitioned }) => {
  const { pool, statements } = partitioned.database
  const beginWait = createWriterWait(animals, statements.readRows)
  const { history } = await beginWait()
  expect((await beginWait()).history).toBe(history)
  await pool.query('TRUNCATE animal CASCADE')
  expect((await beginWait()).history).not.toBe(history)
})
