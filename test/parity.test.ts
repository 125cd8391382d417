import fc from 'fast-check'
import { describe, expect } from 'vitest'
import {
  type GraphQLResponseBody,
  type TestService,
  testWithSharedService,
  testWithService as test,
} from './support/harness.ts'

/** What a face decided: the animal or page as plain data, or the error's code, message and status. */
type Decision = { value: unknown } | { code: string; message: string; status: number }

/** Both faces for one operation, each giving its decision in the same form. */
interface Faces<Input> {
  rest(service: TestService, input: Input): Promise<Decision>
  graphql(service: TestService, input: Input): Promise<Decision>
}

interface NewPetInput {
  name: string
  /** Decimal digits, written into JSON as a number and into GraphQL as an ID. */
  categoryId: string
  status?: string
}

const create: Faces<NewPetInput> = {
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

const get: Faces<string> = {
  rest: async (service, id) => fromRest(await service.send(`/v1/pets/${id}`), withoutId),
  graphql: async (service, id) =>
    fromGraphQL(await service.graphql('query ($id: ID!) { pet(id: $id) { name categoryId status } }', { id }), 'pet'),
}

interface ListInput {
  size?: number
  status?: string
}

const list: Faces<ListInput> = {
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

describe('both faces decide alike', () => {
  const names: [string, string, boolean][] = [
    ['one letter', 'a', true],
    ['255 characters', 'a'.repeat(255), true],
    ['255 emoji, each two code units', '🦜'.repeat(255), true],
    ['256 characters', 'a'.repeat(256), false],
    ['the empty name', '', false],
    ['blanks only', ' \t\n\u00a0\u3000', false],
    ['surrounding blanks, kept', '  x  ', true],
    ['U+0000', 'a\0b', false],
    ['a lone high surrogate', 'a\ud800', false],
    ['a lone low surrogate', '\udc00a', false],
    ['bidi controls', '\u202eabc\u202c', true],
    ['combining marks', 'e\u0301\u0323', true],
    ['line separators', 'a\u2028b\u2029c\r\nd', true],
    ['SQL', `'; DROP TABLE animal; --`, true],
    ['HTML', '<script>alert(1)</script>', true],
    ['a backslash and quotes', '\\"\'`', true],
    ['__proto__', '__proto__', true],
  ]
  for (const [title, name, accepted] of names) {
    testWithSharedService(`name: ${title} is ${accepted ? 'stored as sent' : 'refused'}`, async ({ service }) => {
      const decision = await agree(create, service, { name, categoryId: '1' })
      if (accepted) expect(decision).toEqual({ value: { name, categoryId: '1', status: null } })
      else expect(decision).toMatchObject({ code: 'INVALID_ARGUMENT', status: 400, message: /^name: / })
    })
  }

  const integers = ['0', '1', '-1', '2147483647', '2147483648', '-2147483649', '9007199254740991', '9007199254740992']
  integers.push('9007199254740993', '-9007199254740993', '9223372036854775807', '-9223372036854775808')
  testWithSharedService.for(integers)('categoryId %s comes back to the digit', async (categoryId, { service }) => {
    const decision = await agree(create, service, { name: 'x', categoryId })
    expect(decision).toEqual({ value: { name: 'x', categoryId, status: null } })
  })

  const tooLarge = ['9223372036854775808', '-9223372036854775809', '1' + '0'.repeat(30), '9'.repeat(400)]
  testWithSharedService.for(tooLarge)('categoryId %s is refused', async (categoryId, { service }) => {
    const decision = await agree(create, service, { name: 'x', categoryId })
    expect(decision).toMatchObject({ code: 'INVALID_ARGUMENT', status: 400, message: /^categoryId: / })
  })

  testWithSharedService('every wrong field is named, in one message', async ({ service }) => {
    const decision = await agree(create, service, { name: '', categoryId: '9'.repeat(20) })
    expect(decision).toMatchObject({ message: /^name: .*; categoryId: / })
  })

  testWithSharedService.for(['available', 'pending', 'sold'])('status %s is stored', async (status, { service }) => {
    const decision = await agree(create, service, { name: 'x', categoryId: '1', status })
    expect(decision).toEqual({ value: { name: 'x', categoryId: '1', status } })
  })

  test.for(['SOLD', 'Available', '', ' sold', 'gone'])(
    'status "%s" is refused with 400',
    async (status, { service }) => {
      const input = { name: 'x', categoryId: '1', status }
      expect(await create.rest(service, input)).toMatchObject({ code: 'INVALID_ARGUMENT', message: /^status: / })
      expect(await create.graphql(service, input)).toMatchObject({ code: 'INVALID_ARGUMENT', status: 400 })
      expect(await animalCount(service)).toBe(0)
    },
  )

  const noAnimal = ['0', '-1', '999', '1.0', '1e3', '+1', '01', '0x1', '-0', 'abc', '9223372036854775807']
  noAnimal.push('9223372036854775808', '-9223372036854775809', '٣', '9'.repeat(400), 'NaN')
  testWithSharedService.for(noAnimal)('the id %s names no animal', async (id, { service }) => {
    await service.post({ name: 'x', categoryId: 1 })
    expect(await agree(get, service, id)).toMatchObject({ code: 'NOT_FOUND', status: 404 })
  })

  testWithSharedService('an animal reads the same by id', async ({ service }) => {
    const created = await service.post({ name: 'Zoë 🦜', categoryId: 7, status: 'sold' })
    const { id } = (await created.json()) as { id: number }
    const value = { name: 'Zoë 🦜', categoryId: '7', status: 'sold' }
    expect(await agree(get, service, String(id))).toEqual({ value })
  })

  test.for([1, 2, 20, 100])('a page of %d holds the same animals, newest first', async (size, { service }) => {
    for (const status of ['available', 'pending', undefined]) await service.post({ name: 'x', categoryId: 1, status })
    const decision = await agree(list, service, { size })
    const ids = (decision as { value: { id: string }[] }).value.map(({ id }) => Number(id))
    expect(ids).toEqual([3, 2, 1].slice(0, size))
  })

  test('a status filter keeps the same animals', async ({ service }) => {
    for (const status of ['available', 'pending', 'available', undefined]) {
      await service.post({ name: 'x', categoryId: 1, status })
    }
    const decision = await agree(list, service, { status: 'available' })
    expect(decision).toMatchObject({ value: [{ id: '3' }, { id: '1' }] })
  })

  testWithSharedService.for([0, 101, -1, 1000])('a page size of %d is refused', async (size, { service }) => {
    // The parameter has another name on each face; the rest of the message is the same.
    const rest = await list.rest(service, { size })
    const graphql = await list.graphql(service, { size })
    expect(rest).toMatchObject({ code: 'INVALID_ARGUMENT', message: 'limit: must be an integer from 1 to 100' })
    expect(graphql).toMatchObject({ code: 'INVALID_ARGUMENT', message: 'first: must be an integer from 1 to 100' })
  })

  test('any name, integer and status get the same decision', async ({ service }) => {
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
        const decision = await agree(create, service, pet)
        if ('value' in decision) expect(decision.value).toEqual({ status: null, ...pet })
      }),
      { numRuns: 1_000 },
    )
  })
})

/** Asks both faces and demands the same decision. */
async function agree<Input>(faces: Faces<Input>, service: TestService, input: Input): Promise<Decision> {
  const [rest, graphql] = await Promise.all([faces.rest(service, input), faces.graphql(service, input)])
  expect(graphql).toEqual(rest)
  return rest
}

async function fromRest(response: Response, toValue: (json: string) => unknown): Promise<Decision> {
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
): Decision {
  const [error] = errors ?? []
  if (error) return { code: error.extensions.code, message: error.message, status: error.extensions.status }
  return { value: toValue(data?.[field]) }
}

/** The animals of a REST body with their integers as digits: JSON.parse would round them. */
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
