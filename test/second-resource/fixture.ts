import { inject } from 'vitest'
import { cloneDatabase, dropDatabase, startService, type TestService, testWithService } from '../support/harness.ts'

/** A test with a service whose database has the table of orders, and a pet with the id 1. */
export const testWithOrders = testWithService.extend<{ service: TestService }>({
  service: async ({}, use) => {
    const stops: (() => Promise<void>)[] = []
    const databaseUrl = await cloneDatabase(inject('ordersTemplateUrl'))
    const service = await startService(databaseUrl, {}, (stop) => stops.push(stop))
    await service.database.pool.query("INSERT INTO animal (name, category_id) VALUES ('Tom', 1)")
    await use(service)
    await Promise.all(stops.map((stop) => stop()))
    await dropDatabase(databaseUrl)
  },
})

/** The client of the service's key. */
export async function clientIdOf({ database: { pool } }: TestService): Promise<bigint> {
  const { rows } = await pool.query('SELECT max(id) AS id FROM api_key')
  return BigInt(rows[0].id)
}
