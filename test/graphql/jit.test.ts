import { getIntrospectionQuery, Kind, type OperationDefinitionNode, parse } from 'graphql'
import { expect } from 'vitest'
import { JIT_THRESHOLD, createJit } from '../../src/graphql/jit.ts'
import { type TestService, testWithService as test } from '../support/harness.ts'

interface Ask {
  query: string
  operationName?: string
  variables?: object
}

async function ask(service: TestService, body: Ask): Promise<unknown> {
  const init = { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) }
  return (await service.send('/graphql', init)).json()
}

const both = 'query A { pet(id: 1) { name } } query B { pets(first: 1) { nodes { id status } } }'
const asks: Ask[] = [
  { query: both, operationName: 'A' },
  { query: both, operationName: 'B' },
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

test('what is run often is answered in the end as at first', async ({ service }) => {
  await service.post({ name: 'x', categoryId: 1, status: 'sold' })
  await service.post({ name: 'y', categoryId: 2 })
  const first: unknown[] = []
  for (const body of asks) first.push(await ask(service, body))
  for (let use = 1; use < JIT_THRESHOLD + 2; use++) {
    for (const [n, body] of asks.entries()) expect(await ask(service, body), JSON.stringify(body)).toEqual(first[n])
  }
})

/** Whether each execution of an operation runs compiled code. */
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

const doublings = (n: number) =>
  Array.from({ length: n }, (_, i) => `fragment f${i} on PageInfo { ...f${i + 1} ...f${i + 1} }`).join(' ')

test.for([
  ['a mutation', 'mutation { createPet(input: { name: "", categoryId: 1 }) { id } }'],
  ['a directive', 'query ($a: Boolean!) { pet(id: 1) { name @include(if: $a) } }'],
  ['a directive in a fragment', '{ pet(id: 1) { ...f } } fragment f on Animal { name @skip(if: false) }'],
  ['several operations', 'query A { pet(id: 1) { name } } query B { pet(id: 2) { name } }'],
  ['several root fields', '{ a: pet(id: 1) { name } b: pet(id: 2) { name } }'],
  ['the alias __proto__', '{ pet(id: 1) { __proto__: name } }'],
  ['fragments that double', `{ pets { pageInfo { ...f0 } } } ${doublings(40)} fragment f40 on PageInfo { endCursor }`],
] as const)('a document with %s is never compiled', ([, query]) => {
  expect(compiledExecutions(query, 20)).not.toContain(true)
})

test('the cache of compiled queries is bounded by their length', () => {
  const compiledFor = createJit()
  const fields = Array.from({ length: 200 }, (_, i) => `f${i}: name`).join(' ')
  const operations = Array.from({ length: 200 }, (_, n) => {
    const document = parse(`{ pet(id: ${n}) { ${fields} } }`)
    return { document, operation: document.definitions[0] as OperationDefinitionNode } // as written above
  })
  const isCompiled = ({ document, operation }: (typeof operations)[number]) =>
    compiledFor(document, operation) !== undefined
  for (const one of operations) for (let n = 0; n < JIT_THRESHOLD; n++) isCompiled(one)
  const kept = operations.reverse().filter(isCompiled)
  expect(kept[0]).toBe(operations[0])
  expect(kept.length * fields.length).toBeLessThan(100_000)
})
