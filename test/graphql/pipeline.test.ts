import type { Request, Response } from 'express'
import { buildSchema, execute, type GraphQLEnumType, type GraphQLObjectType, type GraphQLSchema, parse } from 'graphql'
import { expect, test } from 'vitest'
import type { GraphQLDependencies } from '../../src/graphql/context.ts'
import { createPipeline } from '../../src/graphql/pipeline.ts'
import { Deadline } from '../../src/http/deadline.ts'
import { waitUntil } from '../support/timeouts.ts'

/** @param definitions what the fields have beside the text, by their coordinates */
function toSchema(text: string, definitions: Record<string, object>): GraphQLSchema {
  const built = buildSchema(text)
  for (const [coordinate, definition] of Object.entries(definitions)) {
    const [type = '', field = ''] = coordinate.split('.')
    Object.assign((built.getType(type) as GraphQLObjectType).getFields()[field] ?? expect.unreachable(), definition)
  }
  return built
}

const cat = { __typename: 'Cat', id: '1', name: 'Tom', lives: 9 }
const dog = { __typename: 'Dog', id: '2', name: null, tricks: ['sit'], friend: cat }

/** Has an interface and a union. Costs are those of fields of the types of objects. */
const schema = toSchema(
  `interface Node { id: ID! name: String secret: String }
   type Cat implements Node { id: ID! name: String secret: String lives: Int! }
   type Dog implements Node { id: ID! name: String secret: String tricks: [String!]! friend: Node }
   union Pet = Cat | Dog
   type Query { nodes: [Node!]! pets: [Pet!]! node(id: ID!): Node }`,
  {
    'Query.nodes': { resolve: () => [cat, dog], extensions: { cost: 2 } },
    'Query.pets': { resolve: () => [cat, dog] },
    'Query.node': { resolve: (_root: unknown, { id }: { id: string }) => [cat, dog].find((one) => one.id === id) },
    'Cat.name': { extensions: { cost: 5 } },
    'Cat.secret': { extensions: { scope: 'cats:read' } },
    'Dog.name': { extensions: { cost: 3 } },
    'Dog.friend': { extensions: { cost: 7 } },
  },
)

/** A request as far as the pipeline reads it. */
function createRequest(): Request {
  const accepts = (types?: string[]) => types?.[0] ?? ['text/event-stream']
  const caller = { clientId: 1n, scopes: new Set() }
  const head = { method: 'POST', headers: {}, rawHeaders: [], socket: {}, accepts }
  return { ...head, caller, deadline: new Deadline(60_000) } as unknown as Request
}

/** @returns a function that executes a query as the service does, without HTTP, and returns the result and its cost */
function createRun(given: GraphQLSchema) {
  const pipeline = createPipeline(given, {} as GraphQLDependencies) // queries need none
  return async (query: string, params = {}) => {
    const outcome = await pipeline({ query, ...params }, createRequest(), {} as Response)
    if ('stream' in outcome) return expect.unreachable()
    return { data: JSON.parse(outcome.dataJson()) as object, errors: outcome.result.errors, ...outcome.cost }
  }
}
const run = createRun(schema)

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

test('identical queries that arrive during an execution share the next one', async () => {
  const resolved: unknown[] = []
  let end = () => {}
  const ended = new Promise<number>((resolve) => (end = () => resolve(1)))
  const resolve = (_root: unknown, args: unknown) => {
    resolved.push(args)
    return ended
  }
  const recording = toSchema('type Query { value(of: Int): Int! other: Int! }', {
    'Query.value': { resolve },
    'Query.other': { resolve },
  })
  const runRecorded = createRun(recording)
  const query = 'query A($of: Int) { value(of: $of) } query B($of: Int) { value(of: $of) other }'
  const send = (operationName: string, of: number) => runRecorded(query, { operationName, variables: { of } })
  const all = [send('A', 1)]
  await waitUntil(() => resolved.length === 1)
  all.push(send('A', 1), send('A', 1), send('A', 2), send('B', 1), send('A', 1))
  end()
  await Promise.all(all)
  expect(resolved).toEqual([{ of: 1 }, { of: 2 }, { of: 1 }, {}, { of: 1 }])
})

test('an enum whose value differs from its name is coerced once, in a query and in a subscription', async () => {
  const got: unknown[] = []
  const record = (_root: unknown, { is }: { is: unknown }) => void got.push(is)
  const withEnum = toSchema(
    `interface Node { id: ID! }
     enum Kind { CAT }
     type Query { kind(is: Kind): String }
     type Subscription { kind(is: Kind): String }`, // the interface leaves the query to Yoga's executor, which coerces again
    { 'Query.kind': { resolve: record }, 'Subscription.kind': { subscribe: record } },
  )
  Object.assign((withEnum.getType('Kind') as GraphQLEnumType).getValue('CAT') ?? {}, { value: 7 })
  const streams = { open: () => new AbortController() }
  const pipeline = createPipeline(withEnum, { streams } as unknown as GraphQLDependencies)
  for (const operation of ['query', 'subscription']) {
    const params = { query: `${operation} ($is: Kind) { kind(is: $is) }`, variables: { is: 'CAT' } }
    await pipeline(params, createRequest(), {} as Response).catch(() => {}) // there is no source of events
  }
  expect(got).toEqual([7, 7])
})

test('a resolver may return a promise of another class, as those of Prisma are', async () => {
  const promise = Promise.resolve(1)
  // oxlint-disable-next-line unicorn/no-thenable -- what the test is about
  const resolve = () => ({ then: promise.then.bind(promise) })
  expect(await createRun(toSchema('type Query { one: Int }', { 'Query.one': { resolve } }))('{ one }')).toMatchObject({
    data: { one: 1 },
  })
})

test('a field of an interface needs the scopes of all types that implement it', async () => {
  await expect(run('{ nodes { ...N } } fragment N on Node { secret }')).rejects.toMatchObject({ status: 403 })
})
