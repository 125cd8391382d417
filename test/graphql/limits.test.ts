import { getIntrospectionQuery } from 'graphql'
import { describe, expect } from 'vitest'
import { type GraphQLResponseBody, type TestService, testWithSharedService as test } from '../support/harness.ts'

async function send(service: TestService, query: string, variables?: object, headers = {}) {
  const init = { method: 'POST', headers: { 'Content-Type': 'application/json', ...headers } }
  const operationName = query.startsWith('query A {') ? 'A' : undefined
  const before = process.cpuUsage()
  const response = await service.send('/graphql', {
    ...init,
    body: JSON.stringify({ query, variables, operationName }),
  })
  const text = await response.text()
  return { status: response.status, text, cpuMs: process.cpuUsage(before).user / 1_000, body: JSON.parse(text) }
}

const times = (n: number, part: (i: number) => string) => Array.from({ length: n }, (_, i) => part(i)).join(' ')

describe('a flood is rejected before execution, in a short response with the limit and the measured value', () => {
  const floods: { title: string; query: string; message: RegExp }[] = [
    { title: 'tokens', query: `{ ${times(3_000, () => 'a')} }`, message: /2000 tokens/ },
    {
      title: 'fields',
      query: `{ ${times(300, () => 'pets { totalCount }')} }`,
      message: /number of fields is 600; the limit is 250/,
    },
    {
      title: 'the same field',
      query: `{ ${times(1_900, () => 'a')} }`,
      message: /number of fields is 1900; the limit is 250/,
    },
    {
      title: 'aliases',
      query: `{ ${times(31, (i) => `a${i}: pet(id: 1) { id }`)} }`,
      message: /number of aliases is 31; the limit is 30/,
    },
    {
      title: 'root fields',
      query: `{ ${times(21, (i) => `a${i}: pet(id: 1) { id }`)} }`,
      message: /root fields is 21; the limit is 20/,
    },
    {
      title: 'depth',
      query: `{ ${times(15, () => 'pets {')} a ${times(15, () => '}')} }`,
      message: /depth is 16; the limit is 15/,
    },
    {
      title: 'directives',
      query: `{ pets { totalCount ${times(31, () => '@skip(if: false)')} } }`,
      message: /directives is 31; the limit is 30/,
    },
    {
      title: 'cost',
      query: `{ ${times(11, (i) => `a${i}: pets(first: 100) { nodes { id } }`)} }`,
      message: /cost is 1100; the limit is 1000/,
    },
    {
      title: 'mutations',
      query: `mutation { ${times(21, (i) => `a${i}: createPet(input: { name: "x", categoryId: 1 }) { id }`)} }`,
      message: /root fields is 21/,
    },
    {
      title: 'fragments',
      query: `{ ...f0 } ${times(101, (i) => `fragment f${i} on Query { ...f${i + 1} }`)}`,
      message: /fragments is 101; the limit is 100/,
    },
    {
      title: 'aliases in nested fragments',
      query: `{ ...f0 } ${times(9, (i) => `fragment f${i} on Query { ...f${i + 1} ...f${i + 1} }`)} fragment f9 on Query { a: __typename }`,
      message: /aliases is 512/,
    },
    {
      title: 'selections in nested fragments',
      query: `{ pets { pageInfo { ...f0 } } } ${times(25, (i) => `fragment f${i} on PageInfo { ...f${i + 1} ...f${i + 1} }`)} fragment f25 on PageInfo { endCursor }`,
      message: /selections with fragments expanded is \d+; the limit is 1000/,
    },
    {
      title: 'selections in an operation that is not selected',
      query: `query A { __typename } query B { pets { pageInfo { ...f0 } } } ${times(25, (i) => `fragment f${i} on PageInfo { ...f${i + 1} ...f${i + 1} }`)} fragment f25 on PageInfo { endCursor }`,
      message: /selections with fragments expanded is \d+; the limit is 1000/,
    },
    {
      title: 'a long alias',
      query: `{ ${'a'.repeat(256)}: __typename }`,
      message: /length of an alias is 256; the limit is 255/,
    },
    {
      title: 'cycles of fragments that are not selected',
      query: `query A { __typename } query B { ...f0 } ${times(64, (i) => `fragment f${i} on Query { a: pets { ...f${(i * 7 + 1) % 64} ...f${(i * 13 + 5) % 64} } ...f${(i + 1) % 64} }`)}`,
      message: /Cannot spread fragment/,
    },
    {
      title: 'a fragment cycle',
      query: '{ ...a } fragment a on Query { ...b } fragment b on Query { ...a }',
      message: /Cannot spread fragment/,
    },
    {
      title: 'a fragment cycle behind a fragment with the same name',
      query: '{ ...a } fragment a on Query { pets { totalCount } } fragment a on Query { ...a }',
      message: /only one fragment named/,
    },
    {
      title: 'circular introspection',
      query: '{ __schema { types { fields { type { fields { type { fields { type { fields { name } } } } } } } } } }',
      message: /[Ii]ntrospection depth/,
    },
    { title: 'variables', query: `query (${times(600, (i) => `$v${i}: Int`)}) { __typename }`, message: /2000 tokens/ },
    { title: 'mistakes', query: `{ pets { ${times(100, (i) => `x${i}`)} } }`, message: /Cannot query field/ },
  ]
  for (const { title, query, message } of floods) {
    test(`of ${title}`, async ({ service }) => {
      await send(service, '{ __typename }')
      const { status, text, body, cpuMs } = await send(service, query)
      expect(status).toBe(400)
      expect(body).not.toHaveProperty('data')
      expect(body.errors[0].message).toMatch(message)
      expect(body.errors[0].extensions.status).toBe(400)
      expect(text.length).toBeLessThan(2_000)
      expect(cpuMs).toBeLessThan(2_000) // generous, since the machine is shared; `npm run bench` measures
    })
  }
})

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
