import { z } from 'zod'
import { Int64 } from '../../src/store/types.ts'
import type { Item, Resource } from '../../src/store/resource.ts'

export const OrderStatus = z
  .enum(['placed', 'shipped', 'delivered'], { error: 'must be one of placed, shipped, delivered' })
  .meta({ id: 'OrderStatus', description: 'How far the order is.', examples: ['placed'] })

const QUANTITY = { min: 1, max: 100 }
const quantityMessage = `must be an integer from ${QUANTITY.min} to ${QUANTITY.max}`

const fields = {
  petId: Int64.meta({ description: 'The pet that is ordered.', examples: [42] }),
  quantity: z
    .int(quantityMessage)
    .min(QUANTITY.min, quantityMessage)
    .max(QUANTITY.max, quantityMessage)
    .meta({ description: 'How many of them.', examples: [1] }),
}

/** What clients send. Unknown members are dropped. */
export const NewOrder = z
  .object(fields, { error: 'The body must be a JSON object' })
  .meta({ id: 'NewOrder', description: 'An order to place. Unknown members are ignored.' })

/** What is stored: PostgreSQL adds the id, the status and the time. */
export const Order = z
  .object({
    id: Int64.meta({ description: 'Identifier, assigned by the service.', examples: [7] }),
    ...fields,
    status: OrderStatus,
    createdAt: z.iso.datetime({ precision: 3 }).meta({ description: 'When it was ordered.' }),
  })
  .meta({ id: 'Order', description: 'An order of a pet.' })

export const orders = {
  name: 'orders',
  noun: 'order',
  table: 'order',
  item: Order,
  input: NewOrder,
  references: { petId: 'animal' },
  scopes: { read: 'orders:read', write: 'orders:write' },
  filters: { status: '"public"."order_status"' },
} satisfies Resource

export type Order = Item<typeof orders>
