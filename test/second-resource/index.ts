import type { ServedResource } from '../../src/app.ts'
import { RESOURCES } from '../../src/resources.ts'
import { addOrders } from './graphql.ts'
import { orders } from './orders.ts'
import { ordersApi } from './rest.ts'

/** The list of a service that serves orders, too. */
export const WITH_ORDERS: ServedResource[] = [
  ...RESOURCES,
  { resource: orders, rest: ordersApi, addToSchema: addOrders },
]
