import fc from 'fast-check'
import { describe, expect } from 'vitest'
import { type GraphQLResponseBody, type TestService, testWithSharedService as test } from './support/harness.ts'
import { VALID_NAMES, VALID_STATUSES } from './support/cases/new-pet.ts'

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

const list: Operation<{ size: number; status: string | undefined }> = {
  async rest(service, { size, status }) {
    const query = new URLSearchParams({ limit: String(size), ...(status && { status }) })
    return fromRest(await service.send(`/v1/pets?${query}`), (json) => parseAnimals(json).map(withNullStatus))
  },
  async graphql(service, { size, status }) {
    const query =
      'query ($size: Int, $status: PetStatus) { pets(first: $size, status: $status) { nodes { id name categoryId status } } }'
    const toNodes = (page: unknown) => (page as { nodes: unknown }).nodes
    return fromGraphQL(await service.graphql(query, { size, status }), 'pets', toNodes)
  },
}

// What both APIs reject is in test/catalogue/, and integers in test/int64.test.ts.
describe('both APIs have the same outcome', () => {
  test.for(VALID_NAMES)('a name with $title is stored byte for byte', async ({ name }, { service }) => {
    const outcome = await expectSameOutcome(create, service, { name, categoryId: '1' })
    expect(outcome).toEqual({ value: { name, categoryId: '1', status: null } })
    const sql = 'SELECT convert_to(name, $$UTF8$$) AS bytes FROM animal ORDER BY id DESC LIMIT 2'
    const { rows } = await service.database.pool.query(sql)
    expect(rows).toEqual([{ bytes: Buffer.from(name) }, { bytes: Buffer.from(name) }])
  })

  test('one message names every invalid field', async ({ service }) => {
    expect(await expectSameOutcome(create, service, { name: '', categoryId: '9'.repeat(20) })).toEqual({
      code: 'INVALID_ARGUMENT',
      message: expect.stringMatching(/^name: .*; categoryId: /),
      status: 400,
    })
  })

  test.for(['0', '-1', '9223372036854775807'])('no animal has the id %s: 404', async (id, { service }) => {
    expect(await expectSameOutcome(get, service, id)).toMatchObject({ code: 'NOT_FOUND', status: 404 })
  })

  test.for([...VALID_STATUSES, undefined])(
    'an animal is read by its id, and listed: status %s',
    async (status, { service }) => {
      const body = { name: 'Zoë 🦜', categoryId: 7, status }
      const { id } = (await (await service.post(body)).json()) as { id: number }
      await service.post({ name: 'x', categoryId: 1 })
      const value = { name: 'Zoë 🦜', categoryId: '7', status: status ?? null }
      expect(await expectSameOutcome(get, service, String(id))).toEqual({ value })
      for (const size of [1, 2, 100]) {
        const outcome = await expectSameOutcome(list, service, { size, status })
        const listed = (outcome as { value: { status: string | null }[] }).value
        expect(listed.length).toBeLessThanOrEqual(size)
        if (status) expect(new Set(listed.map((animal) => animal.status))).toEqual(new Set([status]))
      }
    },
  )

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
  return response.ok ? { value: toValue(text) } : (JSON.parse(text) as Outcome)
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

/** Parses the animals of a REST body with their integers as strings of digits, since JSON.parse would round them. */
function parseAnimals(json: string): Record<string, unknown>[] {
  return JSON.parse(json.replace(/"(id|categoryId)":(-?\d+)/g, '"$1":"$2"')) as Record<string, unknown>[]
}

const withNullStatus = ({ status = null, ...animal }: Record<string, unknown>) => ({ ...animal, status })

function withoutId(json: string): unknown {
  return { ...withNullStatus(parseAnimals(`[${json}]`)[0] ?? {}), id: undefined }
}
