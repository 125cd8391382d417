import { afterArg, DECIMAL_INT64, idempotencyKeyArg, pageArgs, pageCost } from '../../src/graphql/schema/arguments.ts'
import type { Builder } from '../../src/graphql/schema/builder.ts'
import { addConnection, type Edge } from '../../src/graphql/schema/connection.ts'
import { resolveCreate, resolveItem, resolveList, subscribeToCreated } from '../../src/graphql/schema/resolvers.ts'
import { orders, OrderStatus, type Order } from './orders.ts'

const { read, write } = orders.scopes

/** The types and the root fields of orders. */
export function addOrders(builder: Builder): void {
  const StatusType = builder.enumType('OrderStatus', { values: OrderStatus.options })
  const OrderType = builder.objectRef<Order>('Order').implement({
    description: 'An order of a pet.',
    fields: (t) =>
      ({
        id: t.id({ description: `Assigned by the service: ${DECIMAL_INT64}.`, resolve: ({ id }) => id.toString() }),
        petId: t.id({ description: `The pet: ${DECIMAL_INT64}.`, resolve: ({ petId }) => petId.toString() }),
        quantity: t.exposeInt('quantity', { description: 'How many of them.' }),
        status: t.expose('status', { type: StatusType, description: 'How far the order is.' }),
        createdAt: t.exposeString('createdAt', { description: 'When it was placed (RFC 3339).' }),
      }) satisfies Record<keyof Order, unknown>,
  })
  const InputType = builder.inputType('NewOrder', {
    description: 'An order to place.',
    fields: (t) => ({
      petId: t.id({ required: true, description: `The pet: ${DECIMAL_INT64}.` }),
      quantity: t.int({ required: true, description: 'How many of them.' }),
    }),
  })
  const { EdgeType, ConnectionType } = addConnection(builder, orders, OrderType, 'orderCreated')

  builder.queryFields((t) => ({
    orders: t.field({
      type: ConnectionType,
      description: 'Orders, newest first. A page of n costs n.',
      args: { status: t.arg({ type: StatusType }), ...pageArgs(orders, t.arg) },
      extensions: { cost: pageCost, scope: read },
      resolve: resolveList(orders),
    }),
    order: t.field({
      type: OrderType,
      nullable: true,
      description: 'One order. Null, with the error NOT_FOUND, when no order has this id.',
      args: { id: t.arg.id({ required: true }) },
      extensions: { cost: 1, scope: read },
      resolve: resolveItem(orders),
    }),
  }))
  builder.mutationFields((t) => ({
    createOrder: t.field({
      type: OrderType,
      description: 'Places an order and returns it.',
      args: { input: t.arg({ type: InputType, required: true }), idempotencyKey: idempotencyKeyArg(orders, t.arg) },
      extensions: { cost: 10, scope: write },
      resolve: resolveCreate(orders),
    }),
  }))
  builder.subscriptionFields((t) => ({
    orderCreated: t.field({
      type: EdgeType,
      description: 'Every order that is placed, oldest first.',
      args: { after: afterArg(orders, t.arg), status: t.arg({ type: StatusType }) },
      extensions: { cost: 10, scope: read },
      subscribe: subscribeToCreated(orders),
      resolve: (edge: Edge<Order>) => edge,
    }),
  }))
}
