import { expect } from 'vitest'
import { testWithService as test } from '../support/harness.ts'
import { waitUntil } from '../support/timeouts.ts'

test('a count that exceeds the statement timeout fails alone: those that wait behind it succeed', async ({
  service,
}) => {
  await service.database.pool.query(`
    ALTER TABLE animal RENAME TO stored;
    CREATE VIEW animal AS SELECT * FROM stored WHERE category_id <> 13 OR pg_sleep(3) IS NOT NULL;
    INSERT INTO stored (name, category_id, status) VALUES ('x', 7, 'sold'), ('x', 13, 'sold')`)
  const limits = { statementTimeoutMs: 1_000, queryTimeoutMs: 1_500, checkoutTimeoutMs: 1_000 }
  const { database, graphql } = await service.startPeer({ limits })
  const connection = await database.countPool.connect()
  const filters = ['', '(categoryId: 13)', '(categoryId: 7)', '(categoryId: 7, status: sold)', '(status: pending)']
  const results = []
  for (const [n, filter] of filters.entries()) {
    results.push(graphql(`{ pets${filter} { totalCount } }`))
    await waitUntil(() => database.countPool.waitingCount > n)
  }
  connection.release()
  const counts = (await Promise.all(results)).map(({ data, errors }) => data?.pets ?? errors?.[0]?.extensions.code)
  const [one, none] = [{ totalCount: 1 }, { totalCount: 0 }]
  expect(counts).toEqual(['UNAVAILABLE', 'UNAVAILABLE', one, one, none])
})
