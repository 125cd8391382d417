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
  test('no animals are an empty connection', async ({ service }) => {
    const pageInfo = { hasNextPage: false, hasPreviousPage: false, startCursor: null, endCursor: null }
    expect(await pets(service, '')).toEqual({ nodes: [], edges: [], pageInfo, totalCount: 0 })
  })

  test('first and after page from the newest animal of the filter to the oldest', async ({ service }) => {
    await createSome(service)
    const first = await pets(service, 'status: sold, first: 2')
    const second = await pets(service, `status: sold, first: 2, after: "${first.pageInfo.endCursor}"`)
    const third = await pets(service, `status: sold, first: 2, after: "${second.pageInfo.endCursor}"`)
    expect([first, second, third].map(idsOf)).toEqual([[7, 6], [4, 3], [1]])
    expect([first, second, third].map((page) => page.pageInfo.hasNextPage)).toEqual([true, true, false])
    expect([first, second, third].map((page) => page.pageInfo.hasPreviousPage)).toEqual([false, true, true])
    expect(third.totalCount).toBe(5)
  })

  test('last and before page from the oldest animal to the newest, each page sorted newest first', async ({
    service,
  }) => {
    await createSome(service)
    const first = await pets(service, 'status: sold, last: 2')
    const second = await pets(service, `status: sold, last: 2, before: "${first.pageInfo.startCursor}"`)
    const third = await pets(service, `status: sold, last: 2, before: "${second.pageInfo.startCursor}"`)
    expect([first, second, third].map(idsOf)).toEqual([[3, 1], [6, 4], [7]])
    expect([first, second, third].map((page) => page.pageInfo.hasPreviousPage)).toEqual([true, true, false])
    expect([first, second, third].map((page) => page.pageInfo.hasNextPage)).toEqual([false, true, true])
  })

  test('after and before together select the animals between them', async ({ service }) => {
    await createSome(service)
    const { edges } = await pets(service, '')
    const [after, before] = [edges[0]?.cursor, edges[5]?.cursor]
    expect(idsOf(await pets(service, `after: "${after}", before: "${before}"`))).toEqual([6, 5, 4, 3])
    expect(idsOf(await pets(service, `after: "${after}", before: "${before}", last: 2`))).toEqual([4, 3])
  })

  test('edges and nodes are the same animals; startCursor and endCursor are the first and last cursor', async ({
    service,
  }) => {
    await createSome(service)
    const { nodes, edges, pageInfo } = await pets(service, 'first: 3')
    expect(edges.map(({ node }) => node)).toEqual(nodes)
    expect([pageInfo.startCursor, pageInfo.endCursor]).toEqual([edges[0]?.cursor, edges[2]?.cursor])
  })
})

test('pet with an id that does not exist is null, and an error with its path', async ({ service }) => {
  await service.post({ name: 'x', categoryId: 1 })
  const { data, errors } = await service.graphql('{ a: pet(id: 1) { name } b: pet(id: "2") { name } }')
  expect(data).toEqual({ a: { name: 'x' }, b: null })
  expect(errors).toMatchObject([{ path: ['b'], extensions: { code: 'NOT_FOUND', status: 404 } }])
})

test.for([
  ['100 names of 255 letters of two bytes are created', 'ü', undefined],
  ['100 names of 255 emoji are 413, since a body has at most 64 KiB', '🦜', 'PAYLOAD_TOO_LARGE'],
] as const)('createPets: %s', async ([, letter, code], { service }) => {
  const names = Array(100).fill(letter.repeat(255))
  const { data, errors } = await service.graphql(
    'mutation ($p: [NewPet!]!) { createPets(inputs: $p) { name categoryId status } }',
    { p: names.map((name) => ({ name, categoryId: '-9223372036854775808', status: 'available' })) },
  )
  expect(errors?.[0]?.extensions.code).toBe(code)
  expect((data?.['createPets'] as { name: string }[] | undefined)?.map(({ name }) => name)).toEqual(
    code ? undefined : names,
  )
})

test('createPet with status null creates an animal without a status', async ({ service }) => {
  const query = 'mutation { createPet(input: { name: "x", categoryId: 1, status: null }) { id status } }'
  expect((await service.graphql(query)).data).toEqual({ createPet: { id: '1', status: null } })
  expect(await (await service.send('/v1/pets/1')).text()).toBe('{"id":1,"name":"x","categoryId":1}')
})
