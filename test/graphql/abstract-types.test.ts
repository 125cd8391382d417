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
  const resolve = () => [cat, dog]
  const byId = (_root: unknown, { id }: { id: string }, _context: unknown, _info: GraphQLResolveInfo) =>
    resolve().find((one) => one.id === id)
  const definitions: Record<string, object> = {
    'Query.nodes': { resolve, extensions: { cost: 2 } },
    'Query.pets': { resolve },
    'Query.node': { resolve: byId },
    'Cat.name': { extensions: { cost: 5 } },
    'Cat.secret': { extensions: { scope: 'cats:read' } },
    'Dog.name': { extensions: { cost: 3 } },
    'Dog.friend': { extensions: { cost: 7 } },
  }
  for (const [coordinate, definition] of Object.entries(definitions)) {
    const [type = '', field = ''] = coordinate.split('.')
    Object.assign((built.getType(type) as GraphQLObjectType).getFields()[field] ?? expect.unreachable(), definition)
  }
  return built
}

/** A request as far as the pipeline reads it. */
function toRequest(): Request {
  const accepts = (types?: string[]) => types?.[0] ?? ['text/event-stream']
  const caller = { clientId: 1n, scopes: new Set() }
  const head = { method: 'POST', headers: {}, rawHeaders: [], accepts }
  return { ...head, caller, deadline: new Deadline(60_000) } as unknown as Request
}

/** Executes a query as the service does, without HTTP. @returns the result and its cost */
async function run(query: string) {
  const pipeline = createPipeline(schema, {} as GraphQLDependencies) // queries need none of them
  const outcome = await pipeline({ query }, toRequest(), {} as Response)
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
  const result = { data: JSON.parse(JSON.stringify(data)), errors: undefined }
  expect(await run(query)).toEqual({ ...result, requested, limit: 1_000 })
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
  for (const operation of ['query', 'subscription']) {
    const query = `${operation} ($is: Kind) { kind(is: $is) }`
    const params = { query, variables: { is: 'CAT' } }
    await pipeline(params, toRequest(), {} as Response).catch(() => {}) // there is no source of events
  }
  expect(got).toEqual([7, 7])
})

test('a field of an interface needs the scopes of all types that implement it', async () => {
  await expect(run('{ nodes { ...N } } fragment N on Node { secret }')).rejects.toMatchObject({ status: 403 })
})
