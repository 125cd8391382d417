import { getIntrospectionQuery } from 'graphql'
import { describe, expect } from 'vitest'
import { loadConfig } from '../../src/config.ts'
import { type GraphQLResponseBody, type TestService, testWithSharedService as test } from '../support/harness.ts'

async function ask(service: TestService, query: string, variables?: object, headers = {}) {
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

describe('a flood is refused before execution, in a short answer that says the limit and what was asked', () => {
  const floods: [string, string, RegExp][] = [
    ['tokens', `{ ${times(3_000, () => 'a')} }`, /2000 tokens/],
    ['fields', `{ ${times(300, () => 'pets { totalCount }')} }`, /number of fields is 600; the limit is 250/],
    ['the same field', `{ ${times(1_900, () => 'a')} }`, /number of fields is 1900; the limit is 250/],
    ['aliases', `{ ${times(31, (i) => `a${i}: pet(id: 1) { id }`)} }`, /number of aliases is 31; the limit is 30/],
    ['root fields', `{ ${times(21, (i) => `a${i}: pet(id: 1) { id }`)} }`, /root fields is 21; the limit is 20/],
    ['depth', `{ ${times(15, () => 'pets {')} a ${times(15, () => '}')} }`, /depth is 16; the limit is 15/],
    [
      'directives',
      `{ pets { totalCount ${times(31, () => '@skip(if: false)')} } }`,
      /directives is 31; the limit is 30/,
    ],
    ['cost', `{ ${times(11, (i) => `a${i}: pets(first: 100) { nodes { id } }`)} }`, /cost is 1100; the limit is 1000/],
    [
      'mutations',
      `mutation { ${times(21, (i) => `a${i}: createPet(input: { name: "x", categoryId: 1 }) { id }`)} }`,
      /root fields is 21/,
    ],
    [
      'fragments',
      `{ ...f0 } ${times(101, (i) => `fragment f${i} on Query { ...f${i + 1} }`)}`,
      /fragments is 101; the limit is 100/,
    ],
    [
      'aliases in nested fragments',
      `{ ...f0 } ${times(9, (i) => `fragment f${i} on Query { ...f${i + 1} ...f${i + 1} }`)} fragment f9 on Query { a: __typename }`,
      /aliases is 512/,
    ],
    [
      'selections in nested fragments',
      `{ pets { pageInfo { ...f0 } } } ${times(25, (i) => `fragment f${i} on PageInfo { ...f${i + 1} ...f${i + 1} }`)} fragment f25 on PageInfo { endCursor }`,
      /selections with fragments expanded is \d+; the limit is 1000/,
    ],
    [
      'selections in an operation that is not selected',
      `query A { __typename } query B { pets { pageInfo { ...f0 } } } ${times(25, (i) => `fragment f${i} on PageInfo { ...f${i + 1} ...f${i + 1} }`)} fragment f25 on PageInfo { endCursor }`,
      /selections with fragments expanded is \d+; the limit is 1000/,
    ],
    ['a long alias', `{ ${'a'.repeat(256)}: __typename }`, /length of an alias is 256; the limit is 255/],
    [
      'cycles of fragments that are not selected',
      `query A { __typename } query B { ...f0 } ${times(64, (i) => `fragment f${i} on Query { a: pets { ...f${(i * 7 + 1) % 64} ...f${(i * 13 + 5) % 64} } ...f${(i + 1) % 64} }`)}`,
      /Cannot spread fragment/,
    ],
    [
      'a fragment cycle',
      '{ ...a } fragment a on Query { ...b } fragment b on Query { ...a }',
      /Cannot spread fragment/,
    ],
    [
      'circular introspection',
      '{ __schema { types { fields { type { fields { type { fields { type { fields { name } } } } } } } } } }',
      /[Ii]ntrospection depth/,
    ],
    ['variables', `query (${times(600, (i) => `$v${i}: Int`)}) { __typename }`, /2000 tokens/],
    ['mistakes', `{ pets { ${times(100, (i) => `x${i}`)} } }`, /Cannot query field/],
  ]
  for (const [title, query, message] of floods) {
    test(`of ${title}`, async ({ service }) => {
      await ask(service, '{ __typename }')
      const { status, text, body, cpuMs } = await ask(service, query)
      expect(status).toBe(400)
      expect(body).not.toHaveProperty('data')
      expect(body.errors[0].message).toMatch(message)
      expect(body.errors[0].extensions.status).toBe(400)
      expect(text.length).toBeLessThan(2_000)
      expect(cpuMs).toBeLessThan(2_000) // whatever else the machine does; `npm run bench` measures
    })
  }
})

describe('what people ask is within the limits', () => {
  test('the introspection query of every client', async ({ service }) => {
    const options = {
      inputValueDeprecation: true,
      schemaDescription: true,
      specifiedByUrl: true,
      directiveIsRepeatable: true,
    }
    expect((await ask(service, getIntrospectionQuery(options))).status).toBe(200)
  })

  test('ten pages of a hundred, twenty animals by id, thirty aliases', async ({ service }) => {
    for (const query of [
      `{ ${times(10, (i) => `a${i}: pets(first: 100) { nodes { id } }`)} }`,
      `{ ${times(20, (i) => `a${i}: pet(id: ${i}) { id }`)} }`,
      `{ pets { nodes { ${times(30, (i) => `a${i}: name`)} } } }`,
    ]) {
      const { body } = await ask(service, query)
      expect(body.errors ?? []).not.toContainEqual(
        expect.objectContaining({ message: expect.stringContaining('limit') }),
      )
    }
  })
})

describe('the cost', () => {
  const costs: [string, object | undefined, number][] = [
    ['{ __typename }', undefined, 1],
    ['{ pets { nodes { id } } }', undefined, 20],
    ['{ pets(first: 7) { nodes { id } } }', undefined, 7],
    ['{ pets(last: 7) { nodes { id } } }', undefined, 7],
    ['{ pets(first: 7) { totalCount } }', undefined, 17],
    ['query ($n: Int) { pets(first: $n) { nodes { id } } }', { n: 50 }, 50],
    ['query ($n: Int = 30) { pets(first: $n) { nodes { id } } }', undefined, 30],
    ['query ($n: Int) { pets(first: $n) { nodes { id } } }', undefined, 20],
    ['query ($constructor: Int = 100) { pets(first: $constructor) { nodes { id } } }', undefined, 100],
    ['query ($toString: Int) { pets(first: $toString) { nodes { id } } }', undefined, 20],
    ['query ($n: Int = 1) { pets(first: $n) { nodes { id } } }', { n: null }, 20],
    ['{ pets(first: null, last: 100) { nodes { id } } }', undefined, 100],
    ['query ($n: Int, $m: Int) { pets(first: $n, last: $m) { nodes { id } } }', { n: null, m: 100 }, 100],
    [
      'query ($n: Int = 100) { pets(last: $n) { ...f } } fragment f on AnimalConnection { nodes { id } }',
      undefined,
      100,
    ],
    ['{ a: pet(id: 1) { id } b: pet(id: 1) { id } }', undefined, 2],
    ['{ ...f ...f } fragment f on Query { pets(first: 5) { nodes { id } } }', undefined, 10],
    ['mutation { createPet(input: { name: "x", categoryId: 1 }) { id } }', undefined, 10],
    ['{ __schema { queryType { name } } }', undefined, 10],
  ]
  for (const [query, variables, cost] of costs) {
    test(`of ${query} with ${JSON.stringify(variables)} is ${cost}`, async ({ service }) => {
      const { body } = await ask(service, query, variables, { 'GraphQL-Cost': 'tell' })
      expect(body.extensions).toEqual({ cost: { requested: cost, limit: 1_000 } })
    })
  }

  test('above the whole rate limit is rejected as never possible, not with Retry-After', async ({ service }) => {
    const { rateLimits } = loadConfig({ RATE_LIMIT_POINTS: '50' })
    const small = await service.startPeer({ rateLimits })
    const query = JSON.stringify({ query: '{ pets(first: 51) { nodes { id } } }' })
    const init = { method: 'POST', headers: { 'Content-Type': 'application/json', 'GraphQL-Cost': 'include' } }
    const response = await small.send('/graphql', { ...init, body: query })
    expect(response.status).toBe(400)
    expect(response.headers.has('retry-after')).toBe(false)
    const { errors } = (await response.json()) as GraphQLResponseBody
    expect(errors?.[0]).toMatchObject({
      message: 'The cost is 51; the limit is 50.',
      extensions: { code: 'GRAPHQL_VALIDATION_FAILED' },
    })
    expect((await small.graphql('{ pets(first: 40) { nodes { id } } }')).errors).toBeUndefined()
  })

  test('is told only when the header GraphQL-Cost asks for it', async ({ service }) => {
    expect((await ask(service, '{ __typename }')).body).toEqual({ data: { __typename: 'Query' } })
  })
})
