import { describe, expect } from 'vitest'
import { testWithSharedService as test, type TestService } from '../support/harness.ts'

const CREATE = 'mutation ($input: NewPet!, $key: String) { createPet(input: $input, idempotencyKey: $key) { id } }'
const NAME = 'must have 1 to 255 characters, not only white space'
const INT64 = 'must be an integer from -9223372036854775808 to 9223372036854775807'

/** Sends a request that is rejected. @returns its errors: the message and the wrong fields as "path: message" */
async function reject(service: TestService, query: string, variables?: object) {
  const { data, errors = [] } = await service.graphql(query, variables)
  expect(data ?? null).toBeNull()
  for (const { extensions } of errors) expect(extensions).toMatchObject({ code: 'INVALID_ARGUMENT', status: 400 })
  return errors.map(({ message, extensions: { fields } }) => ({
    message,
    fields: fields?.map(({ path, message }) => `${path.join('.')}: ${message}`),
  }))
}

const SINGLE_MEMBERS =
  'mutation ($n: String!, $c: ID!, $s: PetStatus) { createPet(input: { name: $n, categoryId: $c, status: $s }) { id } }'
const LIST =
  'query ($size: Int, $last: Int, $status: PetStatus) { pets(first: $size, last: $last, status: $status) { nodes { id } } }'
const PAGE_SIZE = 'must be an integer from 1 to 100'
const pet = { name: 'Rex', categoryId: '7' }

test.for<[query: string, variables: object, fields: string[]]>([
  [SINGLE_MEMBERS, { n: '', c: 'x' }, [`input.name: ${NAME}`, `input.categoryId: ${INT64}`]],
  [`mutation { createPet(input: { name: "", categoryId: "7" }) { id } }`, {}, [`input.name: ${NAME}`]],
  [CREATE, { input: pet, key: 'a b' }, ['idempotencyKey: must be 1 to 255 visible ASCII characters']],
  [LIST, { size: 0, last: 101 }, [`first: ${PAGE_SIZE}`, `last: ${PAGE_SIZE}`]],
  [LIST, { size: 1, last: 1 }, ['last: must not be sent together with first']],
  ['{ pets(categoryId: "x", first: 0) { nodes { id } } }', {}, [`categoryId: ${INT64}`, `first: ${PAGE_SIZE}`]],
])(
  'every field that breaks a rule of the contract is named: %s with %j',
  async ([query, variables, fields], { service }) => {
    expect((await reject(service, query, variables)).map((error) => error.fields)).toEqual([fields])
  },
)

test('every parameter of the request that is wrong is named', async ({ service }) => {
  const { errors } = await service.graphql(5 as unknown as string, [] as object)
  expect(errors?.[0]?.extensions).toEqual({
    code: 'INVALID_ARGUMENT',
    status: 400,
    fields: [
      { path: ['query'], message: 'must be a string' },
      { path: ['variables'], message: 'must be an object' },
    ],
  })
})

describe('a value that is not of its type has the error of GraphQL.js, without fields', () => {
  test.for<[query: string, variables: object, messages: RegExp[]]>([
    [SINGLE_MEMBERS, { n: 5, c: '7', s: 'lost' }, [/cannot represent a non string value: 5/, /"lost" does not exist/]],
    [CREATE, { input: { ...pet, statu: 'sold', color: 'red' } }, [/"statu" is not defined/, /"color" is not defined/]],
    [CREATE, { input: { ...pet, ['__proto__']: 1 } }, [/"__proto__" is not defined/]],
    [CREATE, { input: { ...pet, name: '' }, key: 5 }, [/\$key.*cannot represent a non string value: 5/]],
    ['query ($n: Boolean = true) { __typename @include(if: $n) }', { n: null }, [/Argument "if" .*must not be null/]],
    [LIST, { size: '5' }, [/Int cannot represent non-integer value: "5"/]],
    ['mutation ($constructor: NewPet!) { createPet(input: $constructor) { id } }', {}, [/required type "NewPet!"/]],
  ])('%s with %j', async ([query, variables, messages], { service }) => {
    const errors = await reject(service, query, variables)
    expect(errors).toEqual(messages.map((message) => ({ message: expect.stringMatching(message) })))
    expect(JSON.stringify(errors)).not.toContain('Did you mean')
  })

  test('at most five, each with at most 500 characters', async ({ service }) => {
    const many = Object.fromEntries(Array.from({ length: 5_000 }, (_, i) => [`nam${i}`, 1]))
    expect(await reject(service, CREATE, { input: { ...pet, ...many } })).toHaveLength(5)
    const [long] = await reject(service, CREATE, { input: { ...pet, ['x'.repeat(60_000)]: 1 } })
    expect(long?.message).toHaveLength(500)
  })
})
