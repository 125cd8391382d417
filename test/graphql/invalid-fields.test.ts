import fc from 'fast-check'
import { describe, expect } from 'vitest'
import { type GraphQLResponseBody, testWithSharedService as test, type TestService } from '../support/harness.ts'

const CREATE = 'mutation ($input: NewPet!, $key: String) { createPet(input: $input, idempotencyKey: $key) { id } }'
const NAME = 'must have 1 to 255 characters, not only white space'
const STRING = 'must be a string'
const INT64 = 'must be an integer from -9223372036854775808 to 9223372036854775807'
const STATUS = 'must be one of available, pending, sold'
const CURSOR = 'must be a cursor from a list with the same status filter'

/** Sends a request that is rejected. @returns its only error: the message and the wrong fields as "path: message" */
async function reject(service: TestService, query: string, variables?: object) {
  const { data, errors = [] } = await service.graphql(query, variables)
  expect(data ?? null).toBeNull()
  expect(errors.map(({ extensions: { code, status } }) => [code, status])).toEqual([['INVALID_ARGUMENT', 400]])
  const [{ message, extensions } = { message: '', extensions: { fields: [] } }] = errors
  return { message, fields: extensions.fields?.map(({ path, message }) => `${path.join('.')}: ${message}`) }
}

describe('createPet names every wrong field, with the message of the REST API', () => {
  const inputs: [string, object, string[]][] = [
    [
      'wrong types',
      { name: 5, categoryId: [], status: {} },
      [`name: ${STRING}`, `categoryId: ${INT64}`, `status: ${STATUS}`],
    ],
  ]
  test.for(inputs)('%s', async ([, input, fields], { service }) => {
    const body = fields.join('; ')
    expect(await (await service.post(input)).json()).toMatchObject({ message: body })
    const inArguments = fields.map((field) => `input.${field}`)
    expect(await reject(service, CREATE, { input })).toEqual({ message: body, fields: inArguments })
  })

  test('whatever the input', async ({ service }) => {
    const value = fc.oneof(
      fc.string(),
      fc.integer(),
      fc.boolean(),
      fc.constantFrom('', 'available', '7', null),
      fc.object(),
    )
    const input = fc.record({ name: value, categoryId: value }, { requiredKeys: [] })
    await fc.assert(
      fc.asyncProperty(input, fc.constantFrom({ status: 'lost' }, { status: 1 }), async (members, status) => {
        const { categoryId } = members
        fc.pre(typeof categoryId !== 'string') // an ID may be text
        const { message } = (await (await service.post({ ...members, ...status })).json()) as { message: string }
        const rejected = await reject(service, CREATE, { input: { ...members, ...status } })
        expect(rejected).toEqual({ message, fields: message.split('; ').map((field) => `input.${field}`) })
      }),
      { numRuns: 200 },
    )
  })

  test('text for an int64 is a wrong type in JSON only', async ({ service }) => {
    for (const categoryId of ['x', '1.5', '', '9223372036854775808']) {
      const response = await service.post({ name: 'Rex', categoryId })
      expect(await response.json()).toMatchObject({ message: 'categoryId: must be a JSON integer, not a string' })
      const message = `categoryId: ${INT64}`
      const variables = { input: { name: 'Rex', categoryId } }
      expect(await reject(service, CREATE, variables)).toEqual({ message, fields: [`input.${message}`] })
      const literal = `mutation { createPet(input: { name: "Rex", categoryId: "${categoryId}" }) { id } }`
      expect(await reject(service, literal)).toEqual({ message, fields: [`input.${message}`] })
    }
  })

  test('with the variables of single members, and with literals', async ({ service }) => {
    const query =
      'mutation ($n: String!, $c: ID!, $s: PetStatus) { createPet(input: { name: $n, categoryId: $c, status: $s }) { id } }'
    expect((await reject(service, query, { n: '', c: 'x' })).fields).toEqual([
      `input.name: ${NAME}`,
      `input.categoryId: ${INT64}`,
    ])
    expect((await reject(service, query, { n: 5, c: '7', s: 'lost' })).fields).toEqual([
      'input.name: String cannot represent a non string value: 5',
      'input.status: Value "lost" does not exist in "PetStatus" enum.',
    ])
    const literals = 'mutation { createPet(input: { name: "", categoryId: "7" }, idempotencyKey: "k") { id } }'
    expect((await reject(service, literals)).fields).toEqual([`input.name: ${NAME}`])
  })

  test('in the operation that was selected, also through its fragments', async ({ service }) => {
    const query = `
      mutation A($n: String!) { createPet(input: { name: $n, categoryId: 1 }) { id } }
      query B($n: String!) { pets(before: $n) { ...Page } }
      query C($n: String!) { ...Pets }
      fragment Pets on Query { pets(after: $n) { ...Page } }
      fragment Page on AnimalConnection { nodes { id } }`
    for (const [operationName, argument] of [
      ['B', 'before'],
      ['C', 'after'],
    ]) {
      const body = JSON.stringify({ query, operationName, variables: { n: 5 } })
      const headers = { 'Content-Type': 'application/json' }
      const response = await service.send('/graphql', { method: 'POST', headers, body })
      const { errors } = (await response.json()) as GraphQLResponseBody
      expect(errors?.[0]?.extensions.fields?.map(({ path }) => path)).toEqual([[argument]])
    }
  })

  test('and nothing about variables that are absent and optional, whatever their names', async ({ service }) => {
    const query = 'query ($toString: String, $first: Int) { pets(first: $first, after: $toString) { nodes { id } } }'
    const fields = ['first: Int cannot represent non-integer value: "x"']
    expect((await reject(service, query, { first: 'x' })).fields).toEqual(fields)
    const required = 'mutation ($constructor: NewPet!) { createPet(input: $constructor) { id } }'
    expect((await reject(service, required, {})).fields).toEqual([
      'input: Expected non-nullable type "NewPet!" not to be null.',
    ])
  })

  test('unknown members, at most 20, and no suggestion of a name of the schema', async ({ service }) => {
    const input = { name: 'Rex', categoryId: '7', statu: 'sold', colour: 'red' }
    expect((await reject(service, CREATE, { input })).fields).toEqual([
      'input.statu: is not a field of NewPet',
      'input.colour: is not a field of NewPet',
    ])
    const many = Object.fromEntries(Array.from({ length: 5_000 }, (_, i) => [`nam${i}`, 1]))
    expect((await reject(service, CREATE, { input: { ...input, ...many } })).fields).toHaveLength(20)
    const long = await reject(service, CREATE, { input: { name: 'a', categoryId: 1, ['x'.repeat(60_000)]: 1 } })
    expect(JSON.stringify(long).length).toBeLessThan(500)
    expect(
      (await reject(service, CREATE, { input: JSON.parse('{"name":"a","categoryId":"1","__proto__":1}') })).fields,
    ).toEqual(['input.__proto__: is not a field of NewPet'])
  })

  test('the idempotency key', async ({ service }) => {
    const message = 'must be 1 to 255 visible ASCII characters'
    const input = { name: 'Rex', categoryId: '7' }
    expect(await reject(service, CREATE, { input, key: 'a b' })).toEqual({
      message: `Idempotency-Key: ${message}`,
      fields: [`idempotencyKey: ${message}`],
    })
    expect((await reject(service, CREATE, { input: { ...input, name: '' }, key: 5 })).fields).toEqual([
      `input.name: ${NAME}`,
      'idempotencyKey: String cannot represent a non string value: 5',
    ])
  })
})

const LIST =
  'query ($size: Int, $after: String, $last: Int, $status: PetStatus) { pets(first: $size, after: $after, last: $last, status: $status) { nodes { id } } }'
const PAGE_SIZE = 'must be an integer from 1 to 100'
const wrongArguments: [string, object, string[]][] = [
  ['a size out of range', { size: 0 }, [`first: ${PAGE_SIZE}`]],
  ['two sizes out of range', { size: 0, last: 101 }, [`first: ${PAGE_SIZE}`, `last: ${PAGE_SIZE}`]],
  ['first and last', { size: 1, last: 1 }, ['last: must not be sent together with first']],
  ['a cursor that is none', { after: 'x' }, [`after: ${CURSOR}`]],
  ['a size that is no number', { size: '5' }, ['first: Int cannot represent non-integer value: "5"']],
  ['an unknown status', { status: 'lost' }, ['status: Value "lost" does not exist in "PetStatus" enum.']],
]
test.for(wrongArguments)('pets names the arguments that are wrong: %s', async ([, variables, fields], { service }) => {
  expect((await reject(service, LIST, variables)).fields).toEqual(fields)
})

test('other errors have no fields, and REST errors have three members', async ({ service }) => {
  const { errors } = await service.graphql('{ pet(id: "0") { id } }')
  expect(errors?.[0]?.extensions).toEqual({ code: 'NOT_FOUND', status: 404 })
  const syntax = await service.graphql('{')
  expect(syntax.errors?.[0]?.extensions).toEqual({ code: 'GRAPHQL_PARSE_FAILED', status: 400 })
  const rest = (await (await service.post({})).json()) as object
  expect(Object.keys(rest).sort()).toEqual(['code', 'message', 'status'])
})
