import { getIntrospectionQuery, Kind, type OperationDefinitionNode, parse } from 'graphql'
import { expect } from 'vitest'
import { JIT_THRESHOLD, createJit } from '../../src/graphql/jit.ts'
import { type TestService, testWithService as test } from '../support/harness.ts'

interface GraphQLRequest {
  query: string
  operationName?: string
  variables?: object
}

async function send(service: TestService, body: GraphQLRequest): Promise<unknown> {
  const init = { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) }
  return (await service.send('/graphql', init)).json()
}

const twoOperations = 'query A { pet(id: 1) { name } } query B { pets(first: 1) { nodes { id status } } }'
const requests: GraphQLRequest[] = [
  { query: twoOperations, operationName: 'A' },
  { query: twoOperations, operationName: 'B' },
  { query: '{ pet(id: 9) { name } also: pet(id: 1) { __typename name name2: name } }' },
  { query: '{ pet(id: "x") { name } }' },
  { query: '{ pets(first: 0) { nodes { id } } }' },
  { query: '{ pets(after: "x") { nodes { id } totalCount } }' },
  { query: 'query ($a: Int!) { pets(first: $a) { nodes { id } } }', variables: { a: 1 } },
  { query: 'query ($a: Int!) { pets(first: $a) { nodes { id } } }', variables: { a: 'one' } },
  { query: 'query ($a: Int!) { pets(first: $a) { nodes { id } } }' },
  { query: 'query ($s: PetStatus) { pets(status: $s) { totalCount } }', variables: { s: 'lost' } },
  { query: 'query ($s: PetStatus = sold) { pets(status: $s) { totalCount } }' },
  { query: 'query ($s: PetStatus = sold) { pets(status: $s) { totalCount } }', variables: { s: null } },
  { query: 'query ($i: ID!) { pet(id: $i) { id } }', variables: { i: 1 } },
  {
    query: 'query ($y: Boolean!) { pets { nodes @include(if: $y) { id } edges @skip(if: $y) { cursor } } }',
    variables: { y: true },
  },
  {
    query: 'query ($y: Boolean!) { pets { nodes @include(if: $y) { id } edges @skip(if: $y) { cursor } } }',
    variables: { y: false },
  },
  {
    query:
      '{ pets { ...p } } fragment p on AnimalConnection { edges { node { ... on Animal { id ...n } } } pageInfo { ...i } } fragment n on Animal { name } fragment i on PageInfo { hasNextPage endCursor }',
  },
  { query: 'mutation { createPet(input: { name: "", categoryId: "x" }) { id } }' },
  { query: 'mutation ($i: NewPet!) { createPet(input: $i) { id } }', variables: { i: { name: 'x' } } },
  { query: '{ __type(name: "Animal") { fields { name } } __typename }' },
  { query: getIntrospectionQuery() },
]

test('compiled queries have the same responses as interpreted ones', async ({ service }) => {
  await service.post({ name: 'x', categoryId: 1, status: 'sold' })
  await service.post({ name: 'y', categoryId: 2 })
  const first: unknown[] = []
  for (const body of requests) first.push(await send(service, body))
  for (let execution = 1; execution < JIT_THRESHOLD + 2; execution++) {
    for (const [n, body] of requests.entries())
      expect(await send(service, body), JSON.stringify(body)).toEqual(first[n])
  }
})

/** @returns for each execution of an operation whether it runs compiled code */
function compiledExecutions(query: string, executions: number, compiledFor = createJit()): boolean[] {
  const document = parse(query)
  const operation = document.definitions.find((definition) => definition.kind === Kind.OPERATION_DEFINITION)
  if (!operation) throw new Error('The document has no operation')
  return Array.from({ length: executions }, () => compiledFor(document, operation) !== undefined)
}

test('a query is compiled at its fifth execution', () => {
  expect(compiledExecutions('{ pet(id: 1) { ...f } } fragment f on Animal { name }', 6)).toEqual([
    ...Array<boolean>(JIT_THRESHOLD - 1).fill(false),
    true,
    true,
  ])
})

const doublingFragments = (n: number) =>
  Array.from({ length: n }, (_, i) => `fragment f${i} on PageInfo { ...f${i + 1} ...f${i + 1} }`).join(' ')

test.for([
  { title: 'a mutation', query: 'mutation { createPet(input: { name: "", categoryId: 1 }) { id } }' },
  { title: 'a directive', query: 'query ($a: Boolean!) { pet(id: 1) { name @include(if: $a) } }' },
  {
    title: 'a directive in a fragment',
    query: '{ pet(id: 1) { ...f } } fragment f on Animal { name @skip(if: false) }',
  },
  { title: 'several operations', query: 'query A { pet(id: 1) { name } } query B { pet(id: 2) { name } }' },
  { title: 'several root fields', query: '{ a: pet(id: 1) { name } b: pet(id: 2) { name } }' },
  { title: 'the alias __proto__', query: '{ pet(id: 1) { __proto__: name } }' },
  {
    title: 'fragments that double',
    query: `{ pets { pageInfo { ...f0 } } } ${doublingFragments(40)} fragment f40 on PageInfo { endCursor }`,
  },
])('a document with $title is never compiled', ({ query }) => {
  expect(compiledExecutions(query, 20)).not.toContain(true)
})

test('the cache of compiled queries is bounded by the total length of their texts', () => {
  const compiledFor = createJit()
  const fields = Array.from({ length: 200 }, (_, i) => `f${i}: name`).join(' ')
  const operations = Array.from({ length: 200 }, (_, n) => {
    const document = parse(`{ pet(id: ${n}) { ${fields} } }`)
    return { document, operation: document.definitions[0] as OperationDefinitionNode } // the only definition is an operation
  })
  const isCompiled = ({ document, operation }: (typeof operations)[number]) =>
    compiledFor(document, operation) !== undefined
  for (const entry of operations) for (let n = 0; n < JIT_THRESHOLD; n++) isCompiled(entry)
  const cached = operations.reverse().filter(isCompiled)
  expect(cached[0]).toBe(operations[0])
  expect(cached.length * fields.length).toBeLessThan(100_000)
})
