import { addOrders } from './graphql.ts'
import { orders } from './orders.ts'
import { ordersApi } from './rest.ts'

/** Orders of pets, in both APIs: an entry of src/resources.ts, if the product had them. */
export const servedOrders = { resource: orders, rest: ordersApi, addToSchema: addOrders }
