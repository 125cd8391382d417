import { test } from 'vitest'
import { createStore } from '../../src/store/store.ts'
import { serviceFixture, type TestService } from '../support/harness.ts'
import { RESOURCES } from '../../src/resources.ts'
import { servedOrders } from './index.ts'
import { orders } from './orders.ts'

/** The list of a service that serves orders, too. */
export const WITH_ORDERS = [...RESOURCES, servedOrders]

const provideService = serviceFixture('ordersTemplateUrl', { resources: WITH_ORDERS })

const withPet = ({}, use: (service: TestService) => Promise<void>) =>
  provideService({}, async (service) => {
    await service.database.pool.query("INSERT INTO animal (name, category_id) VALUES ('Tom', 1)")
    await use(service)
  })

/** A test with a service that serves orders, too, and a pet with the id 1. */
export const testWithOrders = test.extend<{ service: TestService }>({ service: withPet })

/** As `testWithOrders`, with one service for all tests of the file, so it must tolerate their orders and keys. */
export const testWithSharedOrders = test.extend<{ service: TestService }>({ service: [withPet, { scope: 'file' }] })

/** The client of the service's key. */
export async function clientIdOf({ database: { pool } }: TestService): Promise<bigint> {
  const { rows } = await pool.query('SELECT max(id) AS id FROM api_key')
  return BigInt(rows[0].id)
}

/** The operations on orders, with the statements of a service. */
export function storeOf({ database: { statements, readCount } }: TestService) {
  return createStore(orders, statements, readCount)
}
