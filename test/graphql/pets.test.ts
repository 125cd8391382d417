import { describe, expect } from 'vitest'
import { type TestService, testWithService as test } from '../support/harness.ts'

interface Connection {
  nodes: { id: string }[]
  edges: { cursor: string; node: { id: string } }[]
  pageInfo: { hasNextPage: boolean; hasPreviousPage: boolean; startCursor: string | null; endCursor: string | null }
  totalCount: number
}

async function pets(service: TestService, args: string): Promise<Connection> {
  const { data, errors } =
    await service.graphql(`{ pets${args && `(${args})`} { nodes { id } edges { cursor node { id } }
    pageInfo { hasNextPage hasPreviousPage startCursor endCursor } totalCount } }`)
  expect(errors).toBeUndefined()
  return data?.['pets'] as unknown as Connection
}

const idsOf = (page: Connection) => page.nodes.map(({ id }) => Number(id))

async function createSome(service: TestService): Promise<void> {
  for (const status of ['sold', 'available', 'sold', 'sold', 'pending', 'sold', 'sold']) {
    await service.post({ name: 'x', categoryId: 1, status })
  }
}

describe('pets', () => {
  test('an empty store is an empty connection', async ({ service }) => {
    const pageInfo = { hasNextPage: false, hasPreviousPage: false, startCursor: null, endCursor: null }
    expect(await pets(service, '')).toEqual({ nodes: [], edges: [], pageInfo, totalCount: 0 })
  })

  test('forward, first and after walk the filter from the newest to the oldest', async ({ service }) => {
    await createSome(service)
    const one = await pets(service, 'status: sold, first: 2')
    const two = await pets(service, `status: sold, first: 2, after: "${one.pageInfo.endCursor}"`)
    const three = await pets(service, `status: sold, first: 2, after: "${two.pageInfo.endCursor}"`)
    expect([one, two, three].map(idsOf)).toEqual([[7, 6], [4, 3], [1]])
    expect([one, two, three].map((page) => page.pageInfo.hasNextPage)).toEqual([true, true, false])
    expect([one, two, three].map((page) => page.pageInfo.hasPreviousPage)).toEqual([false, true, true])
    expect(three.totalCount).toBe(5)
  })

  test('backward, last and before walk it from the oldest, each page still newest first', async ({ service }) => {
    await createSome(service)
    const one = await pets(service, 'status: sold, last: 2')
    const two = await pets(service, `status: sold, last: 2, before: "${one.pageInfo.startCursor}"`)
    const three = await pets(service, `status: sold, last: 2, before: "${two.pageInfo.startCursor}"`)
    expect([one, two, three].map(idsOf)).toEqual([[3, 1], [6, 4], [7]])
    expect([one, two, three].map((page) => page.pageInfo.hasPreviousPage)).toEqual([true, true, false])
    expect([one, two, three].map((page) => page.pageInfo.hasNextPage)).toEqual([false, true, true])
  })

  test('after and before together keep what lies between', async ({ service }) => {
    await createSome(service)
    const { edges } = await pets(service, '')
    const [after, before] = [edges[0]?.cursor, edges[5]?.cursor]
    expect(idsOf(await pets(service, `after: "${after}", before: "${before}"`))).toEqual([6, 5, 4, 3])
    expect(idsOf(await pets(service, `after: "${after}", before: "${before}", last: 2`))).toEqual([4, 3])
  })

  test('edges and nodes are the same animals; the ends are the first and last cursor', async ({ service }) => {
    await createSome(service)
    const { nodes, edges, pageInfo } = await pets(service, 'first: 3')
    expect(edges.map(({ node }) => node)).toEqual(nodes)
    expect([pageInfo.startCursor, pageInfo.endCursor]).toEqual([edges[0]?.cursor, edges[2]?.cursor])
  })

  const refused: [string, RegExp][] = [
    ['first: 0', /^first: /],
    ['first: 101', /^first: /],
    ['last: 0', /^last: /],
    ['last: -1', /^last: /],
    ['first: 1, last: 1', /either first or last/],
    ['after: ""', /^after: /],
    ['after: "x"', /^after: /],
    ['before: "YWxsOjE="', /^before: /],
    ['before: "c29sZDox"', /^before: .*the same status filter/],
    ['after: "YWxsOjknIE9SIDE9MQ"', /^after: /],
  ]
  for (const [args, message] of refused) {
    test(`${args} is refused`, async ({ service }) => {
      const { data, errors } = await service.graphql(`{ pets(${args}) { nodes { id } } }`)
      expect(data).toBeNull()
      expect(errors).toMatchObject([{ path: ['pets'], extensions: { code: 'INVALID_ARGUMENT', status: 400 } }])
      expect(errors?.[0]?.message).toMatch(message)
    })
  }
})

describe('pet', () => {
  test('one of two absent: data for the one, an error with a path for the other', async ({ service }) => {
    await service.post({ name: 'x', categoryId: 1 })
    const { data, errors } = await service.graphql('{ a: pet(id: 1) { name } b: pet(id: "2") { name } }')
    expect(data).toEqual({ a: { name: 'x' }, b: null })
    expect(errors).toMatchObject([{ path: ['b'], extensions: { code: 'NOT_FOUND', status: 404 } }])
  })
})

describe('createPet', () => {
  test('status null is none', async ({ service }) => {
    const created = await service.graphql(
      'mutation { createPet(input: { name: "x", categoryId: 1, status: null }) { id status } }',
    )
    expect(created.data).toEqual({ createPet: { id: '1', status: null } })
    expect(await (await service.send('/v1/pets/1')).text()).toBe('{"id":1,"name":"x","categoryId":1}')
  })

  test('several in one document run one after the other', async ({ service }) => {
    const { data } = await service.graphql(
      'mutation { a: createPet(input: { name: "a", categoryId: 1 }) { id } b: createPet(input: { name: "b", categoryId: 1 }) { id } }',
    )
    expect(data).toEqual({ a: { id: '1' }, b: { id: '2' } })
  })
})
