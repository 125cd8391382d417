import { expect } from 'vitest'
import { testWithService as test } from '../support/harness.ts'
import { recordStatements } from '../support/statements.ts'
import { waitUntil } from '../support/timeouts.ts'

test('a count that exceeds the statement timeout fails alone; the next time, those that did not are executed before it', async ({
  service,
}) => {
  await service.database.pool.query(`
    ALTER TABLE animal RENAME TO stored;
    CREATE VIEW animal AS SELECT * FROM stored WHERE category_id <> 13 OR pg_sleep(3) IS NOT NULL;
    INSERT INTO stored (name, category_id, status) VALUES ('x', 7, 'sold'), ('x', 13, 'sold')`)
  const peer = await service.startPeer({ limits: { statementTimeoutMs: 1_000 } })
  const { countPool } = peer.database
  const sent = recordStatements(peer)
  const filters = ['', '(categoryId: 13)', '(categoryId: 7)', '(categoryId: 7, status: sold)', '(status: pending)']
  const countAll = async () => {
    const connection = await countPool.connect()
    const results = filters.map((filter) => peer.graphql(`{ pets${filter} { totalCount } }`))
    await waitUntil(() => countPool.waitingCount === filters.length)
    connection.release()
    return (await Promise.all(results)).map(({ data, errors }) => data?.pets ?? errors?.[0]?.extensions.code)
  }
  const [counted, none] = [{ totalCount: 1 }, { totalCount: 0 }]
  expect(await countAll()).toEqual(['UNAVAILABLE', 'UNAVAILABLE', counted, counted, none])
  sent.length = 0
  expect(await countAll()).toEqual(['UNAVAILABLE', 'UNAVAILABLE', counted, counted, none])
  const order = sent.filter(({ text }) => text.includes('count(')).map(({ values }) => values.join() || 'all')
  expect([order.slice(0, 3).sort(), order.slice(3).sort()]).toEqual([
    ['7', 'pending', 'sold,7'],
    ['13', 'all'],
  ])
})
