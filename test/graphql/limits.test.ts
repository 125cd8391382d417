import { getIntrospectionQuery } from 'graphql'
import { describe, expect } from 'vitest'
import { type TestService, testWithSharedService as test } from '../support/harness.ts'

const send = ({ postGraphQL }: TestService, query: string, variables?: object) =>
  postGraphQL({ query, variables }, { 'GraphQL-Cost': 'include' })

const times = (n: number, part: (i: number) => string) => Array.from({ length: n }, (_, i) => part(i)).join(' ')

describe('common queries are within the limits', () => {
  test('the introspection query of every client', async ({ service }) => {
    const all = {
      inputValueDeprecation: true,
      schemaDescription: true,
      specifiedByUrl: true,
      directiveIsRepeatable: true,
    }
    expect((await send(service, getIntrospectionQuery(all))).status).toBe(200)
  })

  test.for([
    `{ ${times(10, (i) => `a${i}: pets(first: 100) { nodes { id } }`)} }`,
    `{ pets { nodes { ${times(100, (i) => `a${i}: name`)} } } }`,
    `mutation { ${times(30, (i) => `a${i}: createPet(input: { name: "x", categoryId: 1 }) { id name status }`)} }`,
    `{ __schema { types { ${'ofType { '.repeat(200)} name ${'}'.repeat(200)} } } }`,
    `query (${times(50, (i) => `$v${i}: ID!`)}) { ${times(50, (i) => `a${i}: pet(id: $v${i}) { id }`)} }`,
  ])('%.60s…', async (query, { service }) => {
    expect(await (await send(service, query)).text()).not.toMatch(/; the limit is/)
  })
})

const CREATE = 'createPet(input: { name: "x", categoryId: 1 }) { id }'

describe('the cost', () => {
  test.for<[query: string, variables: object, cost: number]>([
    ['{ __typename }', {}, 1],
    ['{ pets { nodes { id } } }', {}, 20],
    ['{ pets(first: 7) { nodes { id } } }', {}, 7],
    ['{ pets(first: 7) { totalCount } }', {}, 17],
    ['query ($n: Int) { pets(first: $n) { nodes { id } } }', { n: 50 }, 50],
    ['query ($constructor: Int = 100) { pets(first: $constructor) { nodes { id } } }', {}, 100],
    ['query ($toString: Int) { pets(first: $toString) { nodes { id } } }', {}, 20],
    ['query ($n: Int = 1) { pets(first: $n) { nodes { id } } }', { n: null }, 20],
    ['query ($n: Int, $m: Int) { pets(first: $n, last: $m) { nodes { id } } }', { n: null, m: 100 }, 100],
    ['query ($n: Int = 9) { pets(last: $n) { ...f } } fragment f on AnimalConnection { nodes { id } }', {}, 9],
    ['{ a: pet(id: 1) { id } b: pet(id: 1) { id } }', {}, 2],
    ['{ ...f ...f @skip(if: true) } fragment f on Query { pets(first: 5) { nodes { id } } }', {}, 10],
    [`mutation { ${CREATE} again: ${CREATE} }`, {}, 20],
    ['{ __schema { queryType { name } } }', {}, 10],
  ])('of %s with %j is %i', async ([query, variables, cost], { service }) => {
    const { extensions } = (await (await send(service, query, variables)).json()) as { extensions: unknown }
    expect(extensions).toEqual({ cost: { requested: cost, limit: 1_000 } })
  })

  test('above the whole rate limit is 422 without Retry-After, since a retry cannot succeed', async ({ service }) => {
    const limited = await service.startPeer({ RATE_LIMIT_POINTS: 50 })
    const response = await send(limited, '{ pets(first: 51) { nodes { id } } }')
    expect([response.status, response.headers.has('retry-after')]).toEqual([422, false])
    const extensions = { code: 'GRAPHQL_VALIDATION_FAILED', status: 400 }
    expect(await response.json()).toEqual({ errors: [{ message: 'The cost is 51; the limit is 50.', extensions }] })
  })
})
