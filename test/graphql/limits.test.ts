import { getIntrospectionQuery } from 'graphql'
import { describe, expect } from 'vitest'
import { type GraphQLResponseBody, type TestService, testWithSharedService as test } from '../support/harness.ts'

async function send(service: TestService, query: string, variables?: object, headers = {}) {
  const init = { method: 'POST', headers: { 'Content-Type': 'application/json', ...headers } }
  const response = await service.send('/graphql', {
    ...init,
    body: JSON.stringify({ query, variables }),
  })
  return { status: response.status, body: (await response.json()) as GraphQLResponseBody & { extensions?: object } }
}

const times = (n: number, part: (i: number) => string) => Array.from({ length: n }, (_, i) => part(i)).join(' ')

describe('common queries are within the limits', () => {
  test('the introspection query of every client', async ({ service }) => {
    const options = {
      inputValueDeprecation: true,
      schemaDescription: true,
      specifiedByUrl: true,
      directiveIsRepeatable: true,
    }
    expect((await send(service, getIntrospectionQuery(options))).status).toBe(200)
  })

  test('ten pages of a hundred, twenty animals by id, thirty aliases', async ({ service }) => {
    for (const query of [
      `{ ${times(10, (i) => `a${i}: pets(first: 100) { nodes { id } }`)} }`,
      `{ ${times(20, (i) => `a${i}: pet(id: ${i}) { id }`)} }`,
      `{ pets { nodes { ${times(30, (i) => `a${i}: name`)} } } }`,
    ]) {
      const { body } = await send(service, query)
      expect(body.errors ?? []).not.toContainEqual(
        expect.objectContaining({ message: expect.stringContaining('limit') }),
      )
    }
  })
})

describe('the cost', () => {
  const costs: { query: string; variables?: object; cost: number }[] = [
    { query: '{ __typename }', cost: 1 },
    { query: '{ pets { nodes { id } } }', cost: 20 },
    { query: '{ pets(first: 7) { nodes { id } } }', cost: 7 },
    { query: '{ pets(last: 7) { nodes { id } } }', cost: 7 },
    { query: '{ pets(first: 7) { totalCount } }', cost: 17 },
    { query: 'query ($n: Int) { pets(first: $n) { nodes { id } } }', variables: { n: 50 }, cost: 50 },
    { query: 'query ($n: Int = 30) { pets(first: $n) { nodes { id } } }', cost: 30 },
    { query: 'query ($n: Int) { pets(first: $n) { nodes { id } } }', cost: 20 },
    { query: 'query ($constructor: Int = 100) { pets(first: $constructor) { nodes { id } } }', cost: 100 },
    { query: 'query ($toString: Int) { pets(first: $toString) { nodes { id } } }', cost: 20 },
    { query: 'query ($n: Int = 1) { pets(first: $n) { nodes { id } } }', variables: { n: null }, cost: 20 },
    { query: '{ pets(first: null, last: 100) { nodes { id } } }', cost: 100 },
    {
      query: 'query ($n: Int, $m: Int) { pets(first: $n, last: $m) { nodes { id } } }',
      variables: { n: null, m: 100 },
      cost: 100,
    },
    {
      query: 'query ($n: Int = 100) { pets(last: $n) { ...f } } fragment f on AnimalConnection { nodes { id } }',
      cost: 100,
    },
    { query: '{ a: pet(id: 1) { id } b: pet(id: 1) { id } }', cost: 2 },
    { query: '{ ...f ...f } fragment f on Query { pets(first: 5) { nodes { id } } }', cost: 10 },
    { query: 'mutation { createPet(input: { name: "x", categoryId: 1 }) { id } }', cost: 10 },
    { query: '{ __schema { queryType { name } } }', cost: 10 },
  ]
  for (const { query, variables, cost } of costs) {
    test(`of ${query} with ${JSON.stringify(variables)} is ${cost}`, async ({ service }) => {
      const { body } = await send(service, query, variables, { 'GraphQL-Cost': 'include' })
      expect(body.extensions).toEqual({ cost: { requested: cost, limit: 1_000 } })
    })
  }

  test('above the whole rate limit is 400 without Retry-After, since a retry cannot succeed', async ({ service }) => {
    const limited = await service.startPeer({ RATE_LIMIT_POINTS: 50 })
    const query = JSON.stringify({ query: '{ pets(first: 51) { nodes { id } } }' })
    const init = { method: 'POST', headers: { 'Content-Type': 'application/json', 'GraphQL-Cost': 'include' } }
    const response = await limited.send('/graphql', { ...init, body: query })
    expect(response.status).toBe(400)
    expect(response.headers.has('retry-after')).toBe(false)
    const { errors } = (await response.json()) as GraphQLResponseBody
    expect(errors?.[0]).toMatchObject({
      message: 'The cost is 51; the limit is 50.',
      extensions: { code: 'GRAPHQL_VALIDATION_FAILED' },
    })
    expect((await limited.graphql('{ pets(first: 40) { nodes { id } } }')).errors).toBeUndefined()
  })

  test('is included only if the request has the header GraphQL-Cost', async ({ service }) => {
    expect((await send(service, '{ __typename }')).body).toEqual({ data: { __typename: 'Query' } })
  })
})
