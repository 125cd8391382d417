import { z } from 'zod'
import { CREATION_ERRORS, handleCreate, handleGet, handleList } from '../../src/rest/handlers.ts'
import { idempotencyHeader, listParameters } from '../../src/rest/handlers.ts'
import { ConditionalHeaders, creationBody } from '../../src/rest/openapi/components.ts'
import { creationResponses, ETAG, listResponses, readResponses } from '../../src/rest/openapi/components.ts'
import type { Operation, RestApi } from '../../src/rest/operation.ts'
import { Int64, PAGE_SIZE } from '../../src/store/types.ts'
import { createCursors } from '../../src/store/cursor.ts'
import { NewOrder, Order, orders, OrderStatus } from './orders.ts'

const { filterKey, toCursor } = createCursors(orders)
const CURSOR = toCursor(7n, filterKey({ status: 'placed' }))

const NEW = { petId: 42, quantity: 1 }
const PLACED = { id: 7, ...NEW, status: 'placed', createdAt: '2026-11-25T12:00:00.000Z' }
const examples = { placed: { summary: 'An order', value: PLACED } }

const Orders = z.array(Order).max(PAGE_SIZE.max).meta({ id: 'Orders', description: 'Orders, newest first.' })

const ListQuery = listParameters(orders, { status: OrderStatus }, CURSOR)

const listOrders: Operation = {
  method: 'get',
  path: '/orders',
  scope: orders.scopes.read,
  parameters: { query: ListQuery, header: ConditionalHeaders },
  errors: ['INVALID_ARGUMENT'],
  createHandler: handleList(orders, 'orders', ListQuery),
  document: {
    operationId: 'listOrders',
    summary: 'List orders',
    description: 'A page of orders, newest first. Follow the `next` links to read the whole list.',
    responses: listResponses(Orders, `/v1/orders?limit=20&status=placed&cursor=${CURSOR}`, {
      orders: { summary: 'One order', value: [PLACED] },
    }),
  },
}

const createOrder: Operation = {
  method: 'post',
  path: '/orders',
  scope: orders.scopes.write,
  parameters: { header: idempotencyHeader(orders) },
  errors: CREATION_ERRORS,
  createHandler: handleCreate(orders, 'orders'),
  document: {
    operationId: 'createOrder',
    summary: 'Place an order',
    description: 'Places an order and returns it. With an `Idempotency-Key` the request may be repeated safely.',
    requestBody: creationBody(orders, { one: { summary: 'One pet', value: NEW } }),
    responses: creationResponses(orders, 'orders', examples),
  },
}

const getOrder: Operation = {
  method: 'get',
  path: '/orders/{orderId}',
  scope: orders.scopes.read,
  parameters: {
    path: z.object({ orderId: Int64.meta({ description: 'Identifier of the order.', example: PLACED.id }) }),
    header: ConditionalHeaders,
  },
  errors: ['INVALID_ARGUMENT', 'NOT_FOUND'],
  createHandler: handleGet(orders, 'orderId'),
  document: {
    operationId: 'getOrder',
    summary: 'Get an order',
    description: 'One order.',
    responses: readResponses('order', { ETag: ETAG }, Order, examples),
  },
}

export const ordersApi: RestApi = {
  operations: [listOrders, createOrder, getOrder],
  tag: { name: 'orders', description: 'Orders of pets.' },
  schemas: [Order, NewOrder, OrderStatus, Orders],
}
