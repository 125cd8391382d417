import { describe, expect } from 'vitest'
import { clientScopes } from '../../src/auth/api-keys.ts'
import { animals } from '../../src/pets/animal.ts'
import { createStore } from '../../src/store/store.ts'
import { columnOf } from '../../src/store/table.ts'
import { paths } from '../rest/document.ts'
import { openStream } from '../support/event-stream.ts'
import { bearer, type TestService } from '../support/harness.ts'
import { recordStatements } from '../support/statements.ts'
import { testWithOrders as test, testWithSharedOrders as testShared, WITH_ORDERS } from './fixture.ts'
import { orders } from './orders.ts'

const CREATED = 'subscription ($after: String) { orderCreated(after: $after) { cursor node { id quantity } } }'

const json = async <T>(response: Promise<Response>) => (await (await response).json()) as T

const order = ({ send }: TestService, quantity = 1, headers = {}) =>
  send('/v1/orders', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', ...headers },
    body: JSON.stringify({ petId: 1, quantity }),
  })

describe('orders, a second resource', () => {
  test('are created, read and listed by both APIs, with what PostgreSQL adds', async ({ service }) => {
    const created = await order(service, 2)
    expect([created.status, created.headers.get('location')]).toEqual([201, '/v1/orders/1'])
    const first = await json<{ createdAt: string }>(Promise.resolve(created))
    expect(first).toEqual({ id: 1, petId: 1, quantity: 2, status: 'placed', createdAt: expect.any(String) })
    expect(first.createdAt).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
    expect(await json(service.send('/v1/orders/1'))).toEqual(first)
    const mutation = 'mutation { createOrder(input: { petId: 1, quantity: 3 }) { id petId status } }'
    expect(await service.graphql(mutation)).toEqual({
      data: { createOrder: { id: '2', petId: '1', status: 'placed' } },
    })
    const query = '{ order(id: 1) { createdAt } orders { totalCount nodes { id } } }'
    const listed = await service.postGraphQL({ query }, { 'GraphQL-Cost': '1' })
    const data = { order: { createdAt: first.createdAt }, orders: { totalCount: 2, nodes: [{ id: '2' }, { id: '1' }] } }
    expect(await listed.json()).toEqual({ data, extensions: { cost: { requested: 31, limit: 1_000 } } })
  })

  test('are listed by cursor and status, with an ETag', async ({ service }) => {
    for (const quantity of [1, 2, 3]) await order(service, quantity)
    await service.database.pool.query(`UPDATE "order" SET status = 'shipped' WHERE id = 2`)
    const page = await service.send('/v1/orders?limit=1&status=placed')
    const [, next = ''] = /<([^>]+)>; rel="next"/.exec(page.headers.get('link') ?? '') ?? []
    expect(await page.json()).toMatchObject([{ id: 3 }])
    const second = await service.send(next)
    expect(await second.json()).toMatchObject([{ id: 1 }])
    const headers = { 'If-None-Match': second.headers.get('etag') ?? '' }
    expect((await service.send(next, { headers })).status).toBe(304)
    const query = '{ orders(status: placed, last: 1) { nodes { id } pageInfo { hasPreviousPage } } }'
    expect(await service.graphql(query)).toMatchObject({
      data: { orders: { nodes: [{ id: '1' }], pageInfo: { hasPreviousPage: true } } },
    })
  })

  test('make /readyz 503 without their table', async ({ service }) => {
    const ready = async () => {
      const response = await fetch(`${service.base}/readyz`)
      return [response.status, await response.text()]
    }
    expect(await ready()).toEqual([200, expect.any(String)])
    await service.database.pool.query('ALTER TABLE "order" RENAME TO renamed')
    expect(await ready()).toEqual([503, expect.stringContaining('the table order')])
  })

  testShared('invalid orders name the same fields in both APIs', async ({ service }) => {
    const message = 'quantity: must be an integer from 1 to 100'
    expect(await json(order(service, 0))).toEqual({ code: 'INVALID_ARGUMENT', message, status: 400 })
    const { errors } = await service.graphql('mutation { createOrder(input: { petId: 1, quantity: 0 }) { id } }')
    expect(errors).toMatchObject([{ message, extensions: { fields: [{ path: ['input', 'quantity'] }] } }])
  })

  testShared('an order of a pet that does not exist is 400 with its field in both APIs', async ({ service }) => {
    const headers = { 'Content-Type': 'application/json' }
    const response = service.send('/v1/orders', { method: 'POST', headers, body: '{"petId":404,"quantity":1}' })
    const message = 'petId: no animal has this id'
    expect(await json(response)).toEqual({ code: 'INVALID_ARGUMENT', message, status: 400 })
    const { errors } = await service.graphql('mutation { createOrder(input: { petId: 404, quantity: 1 }) { id } }')
    expect(errors).toMatchObject([{ message, extensions: { fields: [{ path: ['input', 'petId'] }] } }])
  })

  test('a hundred parallel creations, lookups and pages take as many statements as those of pets', async ({
    service,
  }) => {
    const { statements, readCount } = service.database
    const sent = recordStatements(service)
    const hundred = Array.from({ length: 100 }, (_, n) => n + 1)
    const countOf = async (work: (n: number) => Promise<unknown>) => {
      const before = sent.length
      await Promise.all(hundred.map(work))
      return sent.length - before
    }
    const pets = createStore(animals, statements, readCount)
    const ofOrders = createStore(orders, statements, readCount)
    const counts = {
      pets: [
        await countOf((n) => pets.create({ name: 'Rex', categoryId: BigInt(n) })),
        await countOf((n) => pets.get(String(n))),
        await countOf((limit) => pets.list({ limit, status: 'sold' })),
      ],
      orders: [
        await countOf((n) => ofOrders.create({ petId: BigInt(n), quantity: n })),
        await countOf((n) => ofOrders.get(String(n))),
        await countOf((limit) => ofOrders.list({ limit, status: 'placed' })),
      ],
    }
    expect(counts.orders).toEqual(counts.pets)
    expect(Math.max(...counts.orders)).toBeLessThan(10)
  })

  testShared('an Idempotency-Key creates one order on any instance', async ({ service }) => {
    const peer = await service.startPeer()
    const once = { 'Idempotency-Key': 'k' }
    const responses = [await order(service, 5, once), await order(peer, 5, once)]
    expect(responses.map(({ headers }) => headers.get('idempotent-replayed'))).toEqual([null, 'true'])
    const [first, second] = await Promise.all(responses.map((response) => response.json()))
    expect(second).toEqual(first)
    expect((await order(service, 6, once)).status).toBe(422)
  })

  testShared('a key needs the scope of orders in both APIs, and has it by default', async ({ service }) => {
    const scopes = clientScopes(WITH_ORDERS.map(({ resource }) => resource))
    expect(scopes.slice(-2)).toEqual(['orders:read', 'orders:write'])
    expect(service.keys.scopes).toEqual([...scopes, 'metrics:read'])
    const key = await service.keys.issue('pets', { scopes: ['pets:read', 'pets:write'] })
    const headers = bearer(key)
    expect((await order(service, 1, headers)).status).toBe(403)
    expect((await service.send('/v1/orders', { headers })).status).toBe(403)
    const denied = await service.postGraphQL({ query: '{ pets { nodes { id } } orders { nodes { id } } }' }, headers)
    expect(denied.headers.get('www-authenticate')).toContain('scope="orders:read"')
    const byDefault = bearer(await service.keys.issue('new'))
    expect((await service.send('/v1/orders', { headers: byDefault })).status).toBe(200)
  })

  test('orderCreated has each order of two instances, without a gap, after the liveCursor', async ({ service }) => {
    const peer = await service.startPeer()
    await order(service, 1)
    const { data } = await service.graphql('{ orders { liveCursor } }')
    const after = (data as { orders: { liveCursor: string } } | undefined)?.orders.liveCursor
    await Promise.all(Array.from({ length: 40 }, (_, n) => order(n % 2 ? service : peer, n + 2)))
    const stream = await openStream(peer, { query: CREATED, variables: { after } })
    await order(service, 42)
    const ids = (await stream.received(41)).map(({ data }) => JSON.parse(data).data.orderCreated.node.id as string)
    expect(ids).toEqual(Array.from({ length: 41 }, (_, n) => String(n + 2)))
  })

  testShared('the OpenAPI document and the schema have both resources', async ({ service }) => {
    const document = await json<{ paths: object; components: { schemas: object } }>(service.send('/openapi.json'))
    expect(Object.keys(document.paths)).toEqual([...Object.keys(paths), '/orders', '/orders/{orderId}'])
    expect(document.components.schemas).toMatchObject({
      Order: { properties: { status: { $ref: '#/components/schemas/OrderStatus' } } },
    })
    const text = await (await service.send('/schema.graphql')).text()
    expect(text.match(/^type \w+(Connection|Edge) /gm)).toEqual(
      expect.arrayContaining(['Animal', 'Order'].flatMap((name) => [`type ${name}Connection `, `type ${name}Edge `])),
    )
    expect(text.match(/^type PageInfo /gm)).toHaveLength(1)
  })
})

testShared(
  'each combination of filters that a list accepts has an index that ends with the id',
  async ({ service }) => {
    for (const { resource } of WITH_ORDERS) {
      const { rows } = await service.database.pool.query('SELECT indexdef FROM pg_indexes WHERE tablename = $1', [
        resource.table,
      ])
      const indexes = rows.map(({ indexdef }) => indexdef.replace(/^.* USING /, ''))
      for (const members of combinationsOf(Object.keys(resource.filters)))
        expect(indexes).toContain(`btree (${[...members.map(columnOf), 'id'].join(', ')})`)
    }
  },
)

/** Every choice of some of the members, in their order. */
function combinationsOf(members: string[]): string[][] {
  const [first, ...rest] = members
  if (first === undefined) return [[]]
  const others = combinationsOf(rest)
  return [...others, ...others.map((some) => [first, ...some])]
}
