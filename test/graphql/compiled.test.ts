import { getIntrospectionQuery, Kind, parse } from 'graphql'
import { expect, vi } from 'vitest'
import { useCompiled, WORTH_IT } from '../../src/graphql/compiled.ts'
import { type Running, test } from '../harness.ts'

interface Ask {
  query: string
  operationName?: string
  variables?: object
}

async function ask(running: Running, body: Ask): Promise<unknown> {
  const init = { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) }
  return (await running.send('/graphql', init)).json()
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

test('what is run often is answered in the end as at first', async ({ running }) => {
  await running.post({ name: 'x', categoryId: 1, status: 'sold' })
  await running.post({ name: 'y', categoryId: 2 })
  const first: unknown[] = []
  for (const body of asks) first.push(await ask(running, body))
  for (let use = 1; use < WORTH_IT + 2; use++) {
    for (const [n, body] of asks.entries()) expect(await ask(running, body), JSON.stringify(body)).toEqual(first[n])
  }
})

test('what is kept compiled is bounded, also of the operations of one document that spread the same fragment', () => {
  const { onExecute } = useCompiled()
  const fields = Array.from({ length: 200 }, (_, n) => `f${n}: name`).join(' ')
  const operations = Array.from({ length: 200 }, (_, n) => `query Q${n} { pet(id: 1) { ...f } }`).join(' ')
  const document = parse(`${operations} fragment f on Animal { ${fields} }`)
  /** Whether this use of an operation is by code made for it. */
  function isCompiled(operationName: string): boolean {
    const setExecuteFn = vi.fn<() => void>()
    const hook = onExecute as (payload: object) => void // takes what is here of its payload
    hook({ args: { document, operationName }, executeFn: () => {}, setExecuteFn })
    return setExecuteFn.mock.calls.length > 0
  }
  const names = document.definitions.flatMap((d) => (d.kind === Kind.OPERATION_DEFINITION ? (d.name?.value ?? '') : []))
  for (const name of names) for (let use = 0; use < WORTH_IT; use++) isCompiled(name)
  const kept = names.reverse().filter(isCompiled)
  expect(kept[0]).toBe('Q199')
  expect(kept.length * (document.loc?.end ?? 0)).toBeLessThan(100_000)
})
