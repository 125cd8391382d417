import type { Request, Response } from 'express'
import fc from 'fast-check'
import { buildSchema, execute, GraphQLObjectType, GraphQLSchema, parse, type GraphQLResolveInfo } from 'graphql'
import { GraphQLEnumType, type GraphQLFieldConfig, GraphQLInterfaceType, GraphQLString, validate } from 'graphql'
import { expect, test } from 'vitest'
import type { GraphQLDependencies, Plugin } from '../../src/graphql/context.ts'
import { createPipeline } from '../../src/graphql/yoga.ts'
import { Deadline } from '../../src/http/deadline.ts'
import { waitUntil } from '../support/timeouts.ts'

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
function toRequest(headers = {}): Request {
  const accepts = (types?: string[]) => types?.[0] ?? ['text/event-stream']
  const caller = { clientId: 1n, scopes: new Set() }
  const head = { method: 'POST', headers, rawHeaders: [], socket: {}, accepts }
  return { ...head, caller, deadline: new Deadline(60_000) } as unknown as Request
}

/** @returns a function that executes a query as the service does, without HTTP, and returns the result and its cost */
function createRun(given: GraphQLSchema, plugins: Plugin[] = []) {
  const pipeline = createPipeline(given, { plugins } as unknown as GraphQLDependencies) // queries need no other
  return async (query: string, params = {}, headers = {}) => {
    const outcome = await pipeline({ query, ...params }, toRequest(headers), {} as Response)
    if ('stream' in outcome) return expect.unreachable()
    return { data: JSON.parse(outcome.dataJson()) as object, errors: outcome.result.errors, ...outcome.cost }
  }
}
const run = createRun(schema)

/** @returns a schema, and the arguments of each field that was resolved. Its resolvers wait for `isEnded` */
function createRecordingSchema(isEnded: Promise<unknown> = Promise.resolve()) {
  const recording = buildSchema('type Query { value(of: Int): Int! other: Int! }')
  const resolved: unknown[] = []
  for (const field of Object.values(recording.getQueryType()?.getFields() ?? {})) {
    field.resolve = (_root, args) => {
      resolved.push(args)
      return isEnded.then(() => 1)
    }
  }
  return { schema: recording, resolved }
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

/** Selection sets of the types of this schema, which have no fields that conflict. */
const { selection } = fc.letrec((tie) => ({
  field: fc.constantFrom('__typename', 'id', 'i: id', 'name', 'on: name'),
  condition: fc.constantFrom('', '', ' @include(if: $yes)', ' @skip(if: $yes)'),
  selection: fc
    .array(fc.oneof({ maxDepth: 4 }, tie('field'), tie('typed')), { minLength: 1, maxLength: 4 })
    .map((all) => `{ __typename ${all.join(' ')} }`),
  typed: fc
    .tuple(fc.constantFrom('Node', 'Cat', 'Dog', 'Pet'), tie('condition'), tie('selection'), fc.boolean())
    .map(([on, condition, set, isFriend]) =>
      isFriend
        ? `... on Dog${condition} { tricks friend${condition} ${String(set)} }`
        : `... on ${on}${condition} ${String(set)}`,
    ),
}))

test('generated documents of a schema with an interface and a union have the results of graphql-js', async () => {
  let executed = 0
  const root = fc.constantFrom('nodes', 'pets', 'a: node(id: 1)', 'b: node(id: 2)', 'c: node(id: 3)')
  const document = fc.array(fc.tuple(root, selection), { minLength: 1, maxLength: 3 })
  await fc.assert(
    fc.asyncProperty(document, fc.boolean(), async (roots, yes) => {
      const text = `query ($yes: Boolean!) { __typename @skip(if: $yes) ${roots.map((one) => one.join(' ')).join(' ')} }`
      const parsed = parse(text)
      fc.pre(validate(schema, parsed).length === 0)
      const outcome = await run(text, { variables: { yes } })
      executed++
      const expected = await execute({ schema, document: parsed, variableValues: { yes } })
      expect(JSON.stringify(outcome.data)).toBe(JSON.stringify(expected.data))
    }),
  )
  expect(executed).toBeGreaterThan(50)
})

test('identical queries that arrive during an execution share the next one', async () => {
  let end = () => {}
  const { schema: recording, resolved } = createRecordingSchema(new Promise<void>((resolve) => (end = resolve)))
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

test('requests for which a plugin has replaced a fragment share no execution with others', async () => {
  const plugin: Plugin = {
    onExecute({ context, executeFn, setExecuteFn }) {
      setExecuteFn((args) => {
        const [operation = expect.unreachable()] = args.document.definitions
        const [fragment = expect.unreachable()] = parse(
          `fragment F on Query { ${context.req.headers.accept} }`,
        ).definitions
        return executeFn({ ...args, document: { ...args.document, definitions: [operation, fragment] } })
      })
    },
  }
  const runReplaced = createRun(createRecordingSchema().schema, [plugin])
  const fields = ['value', 'other', '__typename', 'value']
  const all = fields.map((accept) => runReplaced('{ ...F } fragment F on Query { __typename }', {}, { accept }))
  expect((await Promise.all(all)).map(({ data }) => Object.keys(data))).toEqual(fields.map((field) => [field]))
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
