import type { Request, Response } from 'express'
import { buildSchema, execute, GraphQLObjectType, GraphQLSchema, parse, type GraphQLResolveInfo } from 'graphql'
import { GraphQLEnumType, type GraphQLFieldConfig, GraphQLInterfaceType, GraphQLString } from 'graphql'
import { expect, test } from 'vitest'
import type { GraphQLDependencies } from '../../src/graphql/context.ts'
import { createPipeline } from '../../src/graphql/yoga.ts'
import { Deadline } from '../../src/http/deadline.ts'

const schema = createTestSchema()

/** A schema with an interface and a union. Costs are those of fields of the types of objects. */
function createTestSchema(): GraphQLSchema {
  const built = buildSchema(`
    interface Node { id: ID! name: String secret: String }
    type Cat implements Node { id: ID! name: String secret: String lives: Int! }
    type Dog implements Node { id: ID! name: String secret: String tricks: [String!]! friend: Node }
    union Pet = Cat | Dog
    type Query { nodes: [Node!]! pets: [Pet!]! node(id: ID!): Node }
  `)
  const cat = { __typename: 'Cat', id: '1', name: 'Tom', lives: 9 }
  const dog = { __typename: 'Dog', id: '2', name: null, tricks: ['sit'], friend: cat }
  const costs: Record<string, number> = { 'Query.nodes': 2, 'Cat.name': 5, 'Dog.name': 3, 'Dog.friend': 7 }
  for (const [coordinate, cost] of Object.entries(costs)) {
    const [type = '', field = ''] = coordinate.split('.')
    const definition = (built.getType(type) as ReturnType<GraphQLSchema['getQueryType']>)?.getFields()[field]
    if (definition) definition.extensions = { cost }
  }
  const cats = built.getType('Cat') as GraphQLObjectType
  Object.assign(cats.getFields()['secret'] ?? {}, { extensions: { scope: 'cats:read' } })
  const fields = built.getQueryType()?.getFields() ?? {}
  for (const name of ['nodes', 'pets']) Object.assign(fields[name] ?? {}, { resolve: () => [cat, dog] })
  const byId = (_root: unknown, { id }: { id: string }, _context: unknown, _info: GraphQLResolveInfo) =>
    [cat, dog].find((one) => one.id === id)
  Object.assign(fields['node'] ?? {}, { resolve: byId })
  return built
}

/** Executes a query as the service does, without HTTP. @returns the result and its cost */
async function run(query: string) {
  const pipeline = createPipeline(schema, {} as GraphQLDependencies) // queries need none of them
  const caller = { clientId: 1n, scopes: new Set() }
  const req = { method: 'POST', headers: {}, caller, deadline: new Deadline(60_000), bodyText: query }
  const outcome = await pipeline({ query }, req as unknown as Request, {} as Response)
  if ('stream' in outcome) return expect.unreachable()
  return { data: JSON.parse(outcome.dataJson()) as object, errors: outcome.result.errors, ...outcome.cost }
}

test.for<[query: string, cost: number]>([
  ['{ nodes { __typename id name } }', 7], // of a field of an interface the largest
  ['{ nodes { id ... on Cat { lives name } ... on Dog { tricks friend { id name } } } }', 2 + 5 + 7 + 5],
  ['{ pets { __typename ... on Node { name } ...D } } fragment D on Dog { friend { ... on Cat { lives } } }', 5 + 7],
  ['{ node(id: 2) { __typename name ... on Cat { lives } } other: node(id: 3) { id } }', 5],
  ['{ pets { ... on Pet { ... on Dog { __typename } } ... on Cat @include(if: false) { lives } } }', 1],
])('interfaces and unions have the results of graphql-js, and their costs: %s', async ([query, requested]) => {
  const { data } = await execute({ schema, document: parse(query) })
  expect(await run(query)).toEqual({
    data: JSON.parse(JSON.stringify(data)),
    errors: undefined,
    requested,
    limit: 1_000,
  })
})

test('an enum whose value differs from its name is coerced once, in a query and in a subscription', async () => {
  const Kind = new GraphQLEnumType({ name: 'Kind', values: { CAT: { value: 7 } } })
  const got: unknown[] = []
  const field = (name: string): GraphQLFieldConfig<unknown, unknown> => ({
    type: GraphQLString,
    args: { is: { type: Kind } },
    [name]: (_root: unknown, { is }: { is: unknown }) => got.push(is),
  })
  const Node = new GraphQLInterfaceType({ name: 'Node', fields: { id: { type: GraphQLString } } })
  const pipeline = createPipeline(
    new GraphQLSchema({
      types: [Node], // so that Yoga's executor, which coerces variables itself, executes the query
      query: new GraphQLObjectType({ name: 'Query', fields: { kind: field('resolve') } }),
      subscription: new GraphQLObjectType({ name: 'Subscription', fields: { kind: field('subscribe') } }),
    }),
    { streams: { open: () => new AbortController() } } as unknown as GraphQLDependencies,
  )
  const accepts = (types?: string[]) => types?.[0] ?? ['text/event-stream']
  for (const operation of ['query', 'subscription']) {
    const query = `${operation} ($is: Kind) { kind(is: $is) }`
    const caller = { clientId: 1n, scopes: new Set() }
    const req = {
      headers: {},
      rawHeaders: [],
      accepts,
      method: 'POST',
      caller,
      deadline: new Deadline(60_000),
      bodyText: query,
    }
    const params = { query, variables: { is: 'CAT' } }
    await pipeline(params, req as unknown as Request, {} as Response).catch(() => {}) // there is no source of events
  }
  expect(got).toEqual([7, 7])
})

test('a field of an interface needs the scopes of all types that implement it', async () => {
  await expect(run('{ nodes { ...N } } fragment N on Node { secret }')).rejects.toMatchObject({ status: 403 })
})
