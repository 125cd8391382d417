import fc from 'fast-check'
import { describe, expect } from 'vitest'
import { type GraphQLResponseBody, testWithSharedService as test, type TestService } from '../support/harness.ts'

const CREATE = 'mutation ($input: NewPet!, $key: String) { createPet(input: $input, idempotencyKey: $key) { id } }'
const NAME = 'must have 1 to 255 characters, not only white space'
const INT64 = 'must be an integer from -9223372036854775808 to 9223372036854775807'
const CURSOR = 'must be a cursor from a list with the same filter'

/** Sends a request that is rejected. @returns its only error: the message and the wrong fields as "path: message" */
async function reject(service: TestService, query: string, variables?: object) {
  const { data, errors = [] } = await service.graphql(query, variables)
  expect(data ?? null).toBeNull()
  expect(errors.map(({ extensions: { code, status } }) => [code, status])).toEqual([['INVALID_ARGUMENT', 400]])
  const [{ message, extensions } = { message: '', extensions: { fields: [] } }] = errors
  return { message, fields: extensions.fields?.map(({ path, message }) => `${path.join('.')}: ${message}`) }
}

const SINGLE_MEMBERS =
  'mutation ($n: String!, $c: ID!, $s: PetStatus) { createPet(input: { name: $n, categoryId: $c, status: $s }) { id } }'
const LIST =
  'query ($size: Int, $after: String, $last: Int, $status: PetStatus) { pets(first: $size, after: $after, last: $last, status: $status) { nodes { id } } }'
const PAGE_SIZE = 'must be an integer from 1 to 100'
const pet = { name: 'Rex', categoryId: '7' }

describe('every wrong field is named', () => {
  test.for<[query: string, variables: object, fields: string[]]>([
    [SINGLE_MEMBERS, { n: '', c: 'x' }, [`input.name: ${NAME}`, `input.categoryId: ${INT64}`]],
    [
      SINGLE_MEMBERS,
      { n: 5, c: '7', s: 'lost' },
      [
        'input.name: String cannot represent a non string value: 5',
        'input.status: Value "lost" does not exist in "PetStatus" enum.',
      ],
    ],
    [`mutation { createPet(input: { name: "", categoryId: "7" }) { id } }`, {}, [`input.name: ${NAME}`]],
    [
      CREATE,
      { input: { ...pet, statu: 'sold', colour: 'red' } },
      ['input.statu: is not a field of NewPet', 'input.colour: is not a field of NewPet'],
    ],
    [CREATE, { input: { ...pet, ['__proto__']: 1 } }, ['input.__proto__: is not a field of NewPet']],
    [CREATE, { input: pet, key: 'a b' }, ['idempotencyKey: must be 1 to 255 visible ASCII characters']],
    [
      CREATE,
      { input: { ...pet, name: '' }, key: 5 },
      [`input.name: ${NAME}`, 'idempotencyKey: String cannot represent a non string value: 5'],
    ],
    [LIST, { size: 0, last: 101 }, [`first: ${PAGE_SIZE}`, `last: ${PAGE_SIZE}`]],
    [LIST, { size: 1, last: 1 }, ['last: must not be sent together with first']],
    [LIST, { after: 'x' }, [`after: ${CURSOR}`]],
    ['{ pets(categoryId: "x", first: 0) { nodes { id } } }', {}, [`categoryId: ${INT64}`, `first: ${PAGE_SIZE}`]],
    [LIST, { size: '5' }, ['first: Int cannot represent non-integer value: "5"']],
    [LIST, { status: 'lost' }, ['status: Value "lost" does not exist in "PetStatus" enum.']],
    [
      // Nothing about a variable that is absent and optional, whatever its name.
      'query ($toString: String, $first: Int) { pets(first: $first, after: $toString) { nodes { id } } }',
      { first: 'x' },
      ['first: Int cannot represent non-integer value: "x"'],
    ],
    [
      'mutation ($constructor: NewPet!) { createPet(input: $constructor) { id } }',
      {},
      ['input: Expected non-nullable type "NewPet!" not to be null.'],
    ],
  ])('%s with %j', async ([query, variables, fields], { service }) => {
    expect((await reject(service, query, variables)).fields).toEqual(fields)
  })

  test('with the message of the REST API, whatever the input', async ({ service }) => {
    const value = fc.oneof(fc.string(), fc.integer(), fc.constantFrom('', 'available', '7', null, true), fc.object())
    const notText = value.filter((categoryId) => typeof categoryId !== 'string') // an ID may be text
    const input = fc.record({ name: value, categoryId: notText }, { requiredKeys: [] })
    await fc.assert(
      fc.asyncProperty(input, fc.constantFrom('lost', 1, {}), async (members, status) => {
        const { message } = (await (await service.post({ ...members, status })).json()) as { message: string }
        const rejected = await reject(service, CREATE, { input: { ...members, status } })
        expect(rejected).toEqual({ message, fields: message.split('; ').map((field) => `input.${field}`) })
      }),
      { numRuns: 200 },
    )
  })

  test('in the operation that was selected, also through its fragments', async ({ service }) => {
    const query = `
      mutation A($n: String!) { createPet(input: { name: $n, categoryId: 1 }) { id } }
      query B($n: String!) { ...Pets }
      fragment Pets on Query { pets(after: $n) { nodes { id } } }`
    const response = await service.postGraphQL({ query, operationName: 'B', variables: { n: 5 } })
    const { errors } = (await response.json()) as GraphQLResponseBody
    expect(errors?.[0]?.extensions.fields?.map(({ path }) => path)).toEqual([['after']])
  })

  test('at most 20 of them, and no long name', async ({ service }) => {
    const many = Object.fromEntries(Array.from({ length: 5_000 }, (_, i) => [`nam${i}`, 1]))
    expect((await reject(service, CREATE, { input: { ...pet, ...many } })).fields).toHaveLength(20)
    const long = await reject(service, CREATE, { input: { ...pet, ['x'.repeat(60_000)]: 1 } })
    expect(JSON.stringify(long).length).toBeLessThan(500)
  })
})

test('other errors have no fields', async ({ service }) => {
  const { errors } = await service.graphql('{ pet(id: "0") { id } }')
  expect(errors?.[0]?.extensions).toEqual({ code: 'NOT_FOUND', status: 404 })
  const syntax = await service.graphql('{')
  expect(syntax.errors?.[0]?.extensions).toEqual({ code: 'GRAPHQL_PARSE_FAILED', status: 400 })
})
