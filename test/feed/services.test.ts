import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'vitest'
import type { ConnectionSource } from '../../src/database/pool.ts'
import { oneAtATime } from '../../src/database/database.ts'
import { createStatements } from '../../src/database/statements.ts'
import { createResourceServices } from '../../src/resource-services.ts'
import { animals } from '../../src/pets/animal.ts'
import { testWithService as test } from '../support/harness.ts'

test('the loops of two resources take turns: one of them reads at a time', async ({ service }) => {
  const resources = [animals, { ...animals, name: 'others' }]
  const { pool } = service.database
  const reads = { now: 0, most: 0 }
  const counted: ConnectionSource = {
    withConnection: (work) =>
      pool.withConnection(async (client) => {
        reads.most = Math.max(reads.most, ++reads.now)
        await sleep(20) // time for another one to begin
        return work(client).finally(() => reads.now--)
      }),
  }
  const statements = createStatements(pool)
  const feedLoopStatements = createStatements(oneAtATime(counted))
  const database = { statements, runCount: statements.run, feedLoopStatements, feedPageStatements: statements }
  const services = createResourceServices(resources, database, { maxWaitMs: 100_000, observe() {} })
  const controller = new AbortController()
  const received = resources.map((resource) =>
    services.of(resource).feed.follow(0n, {}, { clientId: 1n, signal: controller.signal }).next(),
  )
  await pool.query("INSERT INTO animal (name, category_id) VALUES ('Rex', 1)")
  expect(await Promise.all(received)).toMatchObject([[{ name: 'Rex' }], [{ name: 'Rex' }]])
  controller.abort()
  await services.stop()
  expect(reads.most).toBe(1)
})
