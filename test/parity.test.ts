import fc from 'fast-check'
import { describe, expect } from 'vitest'
import {
  type GraphQLResponseBody,
  type TestService,
  testWithSharedService,
  testWithService as test,
} from './support/harness.ts'
import {
  INVALID_NAMES,
  INVALID_STATUSES,
  OUT_OF_RANGE_CATEGORY_IDS,
  VALID_CATEGORY_IDS,
  VALID_NAMES,
  VALID_STATUSES,
} from './support/cases/new-pet.ts'

/** The outcome of an operation: the animal or page as plain data, or the error's code, message and status. */
type Outcome = { value: unknown } | { code: string; message: string; status: number }

/** One operation through each API, with the outcome in the same form. */
interface Operation<Input> {
  rest(service: TestService, input: Input): Promise<Outcome>
  graphql(service: TestService, input: Input): Promise<Outcome>
}

interface NewPetInput {
  name: string
  /** Decimal digits, sent as a number in JSON and as an ID in GraphQL. */
  categoryId: string
  status?: string
}

const create: Operation<NewPetInput> = {
  async rest(service, { name, categoryId, status }) {
    const members = [`"name":${JSON.stringify(name)}`, `"categoryId":${categoryId}`]
    if (status !== undefined) members.push(`"status":${JSON.stringify(status)}`)
    return fromRest(await service.post(`{${members.join(',')}}`), withoutId)
  },
  async graphql(service, input) {
    const query = 'mutation ($input: NewPet!) { createPet(input: $input) { name categoryId status } }'
    return fromGraphQL(await service.graphql(query, { input }), 'createPet')
  },
}

const get: Operation<string> = {
  rest: async (service, id) => fromRest(await service.send(`/v1/pets/${id}`), withoutId),
  graphql: async (service, id) =>
    fromGraphQL(await service.graphql('query ($id: ID!) { pet(id: $id) { name categoryId status } }', { id }), 'pet'),
}

interface ListInput {
  size?: number
  status?: string
}

const list: Operation<ListInput> = {
  async rest(service, { size, status }) {
    const query = new URLSearchParams({ ...(size !== undefined && { limit: String(size) }), ...(status && { status }) })
    return fromRest(await service.send(`/v1/pets?${query}`), (json) => parseAnimals(json).map(withNullStatus))
  },
  async graphql(service, { size, status }) {
    const query =
      'query ($size: Int, $status: PetStatus) { pets(first: $size, status: $status) { nodes { id name categoryId status } } }'
    return fromGraphQL(
      await service.graphql(query, { size, status }),
      'pets',
      (page) => (page as { nodes: unknown }).nodes,
    )
  },
}

describe('both APIs have the same outcome', () => {
  for (const { title, name } of VALID_NAMES) {
    testWithSharedService(`a name with ${title} is stored unchanged`, async ({ service }) => {
      const outcome = await expectSameOutcome(create, service, { name, categoryId: '1' })
      expect(outcome).toEqual({ value: { name, categoryId: '1', status: null } })
    })
  }

  for (const { title, name } of INVALID_NAMES) {
    testWithSharedService(`a name with ${title} is rejected`, async ({ service }) => {
      const outcome = await expectSameOutcome(create, service, { name, categoryId: '1' })
      expect(outcome).toEqual(invalidArgument(/^name: /))
    })
  }

  testWithSharedService.for(VALID_CATEGORY_IDS)(
    'categoryId %s is stored without rounding',
    async (categoryId, { service }) => {
      const outcome = await expectSameOutcome(create, service, { name: 'x', categoryId })
      expect(outcome).toEqual({ value: { name: 'x', categoryId, status: null } })
    },
  )

  testWithSharedService.for(OUT_OF_RANGE_CATEGORY_IDS)('categoryId %s is rejected', async (categoryId, { service }) => {
    const outcome = await expectSameOutcome(create, service, { name: 'x', categoryId })
    expect(outcome).toEqual(invalidArgument(/^categoryId: /))
  })

  testWithSharedService('one message names every invalid field', async ({ service }) => {
    const outcome = await expectSameOutcome(create, service, { name: '', categoryId: '9'.repeat(20) })
    expect(outcome).toEqual(invalidArgument(/^name: .*; categoryId: /))
  })

  testWithSharedService.for(VALID_STATUSES)('status %s is stored', async (status, { service }) => {
    const outcome = await expectSameOutcome(create, service, { name: 'x', categoryId: '1', status })
    expect(outcome).toEqual({ value: { name: 'x', categoryId: '1', status } })
  })

  test.for(INVALID_STATUSES)('status "%s" is rejected with 400', async (status, { service }) => {
    const outcome = await expectSameOutcome(create, service, { name: 'x', categoryId: '1', status })
    expect(outcome).toEqual(invalidArgument(/^status: /))
    expect(await animalCount(service)).toBe(0)
  })

  const absentIds = ['0', '-1', '999', '1.0', '1e3', '+1', '01', '0x1', '-0', 'abc', '9223372036854775807']
  absentIds.push('9223372036854775808', '-9223372036854775809', '٣', '9'.repeat(400), 'NaN')
  testWithSharedService.for(absentIds)('getPet and pet with the id %s are NOT_FOUND', async (id, { service }) => {
    await service.post({ name: 'x', categoryId: 1 })
    expect(await expectSameOutcome(get, service, id)).toMatchObject({ code: 'NOT_FOUND', status: 404 })
  })

  testWithSharedService('getPet and pet return the same animal', async ({ service }) => {
    const created = await service.post({ name: 'Zoë 🦜', categoryId: 7, status: 'sold' })
    const { id } = (await created.json()) as { id: number }
    const value = { name: 'Zoë 🦜', categoryId: '7', status: 'sold' }
    expect(await expectSameOutcome(get, service, String(id))).toEqual({ value })
  })

  test.for([1, 2, 20, 100])('a page of %d contains the same animals, newest first', async (size, { service }) => {
    for (const status of ['available', 'pending', undefined]) await service.post({ name: 'x', categoryId: 1, status })
    const outcome = await expectSameOutcome(list, service, { size })
    const ids = (outcome as { value: { id: string }[] }).value.map(({ id }) => Number(id))
    expect(ids).toEqual([3, 2, 1].slice(0, size))
  })

  test('a status filter selects the same animals', async ({ service }) => {
    for (const status of ['available', 'pending', 'available', undefined]) {
      await service.post({ name: 'x', categoryId: 1, status })
    }
    const outcome = await expectSameOutcome(list, service, { status: 'available' })
    expect(outcome).toMatchObject({ value: [{ id: '3' }, { id: '1' }] })
  })

  testWithSharedService.for([0, 101, -1, 1000])('a page size of %d is rejected', async (size, { service }) => {
    // The parameter is called limit in REST and first in GraphQL; the rest of the message is the same.
    const rest = await list.rest(service, { size })
    const graphql = await list.graphql(service, { size })
    expect(rest).toMatchObject({ code: 'INVALID_ARGUMENT', message: 'limit: must be an integer from 1 to 100' })
    expect(graphql).toMatchObject({ code: 'INVALID_ARGUMENT', message: 'first: must be an integer from 1 to 100' })
  })

  test('any name, integer and status have the same outcome', async ({ service }) => {
    const edges = [-(2n ** 63n), 2n ** 63n - 1n, 2n ** 53n, -(2n ** 53n), 0n].flatMap((n) => [n - 1n, n, n + 1n])
    const integer = fc.oneof(fc.bigInt({ min: -(2n ** 64n), max: 2n ** 64n }), fc.constantFrom(...edges))
    const name = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 300 }),
      fc.string({ unit: 'grapheme' }),
      fc.string({ unit: fc.nat(0xffff).map((unit) => String.fromCharCode(unit)) }), // lone surrogates, too
    )
    const status = fc.constantFrom('available', 'pending', 'sold', undefined)
    await fc.assert(
      fc.asyncProperty(name, integer, status, async (text, n, status) => {
        const pet = { name: text, categoryId: n.toString(), ...(status && { status }) }
        const outcome = await expectSameOutcome(create, service, pet)
        if ('value' in outcome) expect(outcome.value).toEqual({ status: null, ...pet })
      }),
      { numRuns: 300 },
    )
  })
})

/** Runs an operation through both APIs and expects the same outcome. */
async function expectSameOutcome<Input>(
  operation: Operation<Input>,
  service: TestService,
  input: Input,
): Promise<Outcome> {
  const [rest, graphql] = await Promise.all([operation.rest(service, input), operation.graphql(service, input)])
  expect(graphql).toEqual(rest)
  return rest
}

async function fromRest(response: Response, toValue: (json: string) => unknown): Promise<Outcome> {
  const text = await response.text()
  if (response.ok) return { value: toValue(text) }
  const error = JSON.parse(text) as { code: string; message: string; status: number }
  expect(Object.keys(error)).toEqual(['code', 'message', 'status'])
  expect(error.status).toBe(response.status)
  return error
}

function fromGraphQL(
  { data, errors }: GraphQLResponseBody,
  field: string,
  toValue = (value: unknown): unknown => value,
): Outcome {
  const [error] = errors ?? []
  if (error) return { code: error.extensions.code, message: error.message, status: error.extensions.status }
  return { value: toValue(data?.[field]) }
}

const invalidArgument = (message: RegExp) => ({
  code: 'INVALID_ARGUMENT',
  message: expect.stringMatching(message),
  status: 400,
})

/** Parses the animals of a REST body with their integers as strings of digits, since JSON.parse would round them. */
function parseAnimals(json: string): Record<string, unknown>[] {
  return JSON.parse(json.replace(/"(id|categoryId)":(-?\d+)/g, '"$1":"$2"')) as Record<string, unknown>[]
}

const withNullStatus = ({ status = null, ...animal }: Record<string, unknown>) => ({ ...animal, status })

function withoutId(json: string): unknown {
  return { ...withNullStatus(parseAnimals(`[${json}]`)[0] ?? {}), id: undefined }
}

async function animalCount(service: TestService): Promise<unknown> {
  return (await service.graphql('{ pets { totalCount } }')).data?.pets?.['totalCount']
}
