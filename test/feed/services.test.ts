import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'vitest'
import { createStatements } from '../../src/database/statements.ts'
import { createServices } from '../../src/feed/services.ts'
import { animals } from '../../src/pets/animal.ts'
import { testWithService as test } from '../support/harness.ts'

test('the loops of two resources take turns: one of them reads at a time', async ({ service }) => {
  const resources = [animals, { ...animals, name: 'others' }]
  const statements = createStatements(service.database.pool)
  const reads = { now: 0, most: 0 }
  async function run<Row>(text: string, values: unknown[]): Promise<Row[]> {
    if (!text.includes('ORDER BY id LIMIT')) return statements.run<Row>(text, values)
    reads.most = Math.max(reads.most, ++reads.now)
    await sleep(20) // time for another one to begin
    return statements.run<Row>(text, values).finally(() => reads.now--)
  }
  const database = { statements, runCount: run, feedStatements: { ...statements, run } }
  const services = createServices(resources, database, { maxWaitMs: 100_000, observe() {} })
  const controller = new AbortController()
  const received = resources.map((resource) =>
    services.of(resource).feed.follow(0n, {}, { clientId: 1n, signal: controller.signal }).next(),
  )
  await service.database.pool.query("INSERT INTO animal (name, category_id) VALUES ('Rex', 1)")
  expect(await Promise.all(received)).toMatchObject([[{ name: 'Rex' }], [{ name: 'Rex' }]])
  controller.abort()
  await services.stop()
  expect(reads.most).toBe(1)
})
