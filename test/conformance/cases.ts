import { deepStrictEqual, ok, strictEqual } from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { INVALID_PETS, MALFORMED_BODIES } from '../support/cases/new-pet.ts'
import { VALID_CATEGORY_IDS, VALID_NAMES, VALID_STATUSES } from '../support/cases/new-pet.ts'
import type { Client, ReadAnimal, ReceivedResponse, RequestOptions } from './client.ts'
import { expectAnimal, expectError, expectHeader, expectStatus, readJson } from './client.ts'

/** One requirement of the contract. */
export interface Case {
  /** The section of the specification that requires it, or "design" where the specification is silent. */
  source: `§${string}` | 'design'
  title: string
  /** Throws if the environment does not meet the requirement. */
  run(client: Client): Promise<void>
}

const requirement = (source: Case['source'], title: string, run: Case['run']): Case => ({ source, title, run })

const validPet = '{"name":"conformance","categoryId":1}'
const namePrefix = 'conformance '

/** Black-box cases of the contract. They add animals, whose names begin with "conformance". */
export const cases: Case[] = [
  // Authentication
  ...[
    { title: 'no Authorization', authorization: null },
    { title: 'another scheme', authorization: 'Basic dXNlcjpwYXNz' },
    { title: 'Bearer without a key', authorization: 'Bearer' },
    { title: 'an invalid key', authorization: 'Bearer not-a-key' },
  ].flatMap(({ title, authorization }) => [
    requirement('§5', `listPets with ${title} is 401`, rejected(401, '/pets', { authorization })),
    requirement('§5', `createPet with ${title} is 401`, rejected(401, '/pets', { authorization, ...post(validPet) })),
    requirement('§5', `getPet with ${title} is 401`, rejected(401, '/pets/1', { authorization })),
  ]),
  requirement('design', '401 has WWW-Authenticate: Bearer', async ({ send }) => {
    expectHeader(await send('/pets', { authorization: null }), 'www-authenticate', /^Bearer/)
  }),

  // listPets
  requirement('§4.1', 'listPets is 200 with an array of Animal', async (client) => {
    await addUnlessReadOnly(client)
    const animals = await list(client, '')
    ok(animals.length > 0 || client.readOnly, 'the animal just added is missing')
  }),
  requirement('§8', 'listPets without limit returns 20 animals', async (client) => {
    for (let n = 0; n < 21; n++) await add(client)
    strictEqual((await list(client, '')).length, 20)
  }),
  ...[1, 2, 100].map((limit) =>
    requirement('§4.1', `listPets with limit=${limit} returns at most ${limit} animals`, async (client) => {
      await addUnlessReadOnly(client)
      const { length } = await list(client, `?limit=${limit}`)
      ok((length >= 1 || client.readOnly) && length <= limit, `${length} animals`)
    }),
  ),
  ...VALID_STATUSES.map((status) =>
    requirement('§4.1', `listPets with status=${status} returns only animals with this status`, async (client) => {
      const added = await addUnlessReadOnly(client, { status })
      const animals = await list(client, `?status=${status}&limit=100`)
      deepStrictEqual([...new Set(animals.map((animal) => animal.status))], animals.length ? [status] : [])
      ok(!added || animals.some((animal) => animal.id === added.id), 'the animal just added is missing')
    }),
  ),
  ...['limit=0', 'limit=101', 'limit=abc', 'limit=', 'limit=1.5', 'limit=%2B5', 'status=unknown', 'status=', 'cursor=!']
    .concat('limit=1&limit=2')
    .map((query) => requirement('design', `listPets with ${query} is 400`, rejected(400, `/pets?${query}`))),
  requirement('design', 'listPets is sorted newest first, and its next link has the older animals', async (client) => {
    const added = [await add(client), await add(client), await add(client)].map(({ id }) => id)
    const first = await client.send('/pets?limit=2')
    const link = expectHeader(first, 'link', /rel="next"/)
    const cursor = /[?&]cursor=([^&>]+)[^>]*>; rel="next"/.exec(link)?.[1]
    const [third] = await list(client, `?limit=2&cursor=${cursor}`)
    const ids = [...(readJson(first) as ReadAnimal[]), third].map((animal) => animal?.id)
    deepStrictEqual(ids, added.reverse())
  }),
  requirement('design', 'listPets with If-None-Match of its own ETag is 304', async ({ send }) => {
    const etag = expectHeader(await send('/pets?limit=1'), 'etag', /^(W\/)?".+"$/)
    expectStatus(await send('/pets?limit=1', { headers: { 'If-None-Match': etag } }), 304)
  }),

  // createPet
  requirement('§4.2', 'createPet is 201 with the Animal and its id', async (client) => {
    const name = `conformance ${randomUUID()}`
    const response = await create(client, JSON.stringify({ name, categoryId: 7, status: 'pending' }))
    expectStatus(response, 201)
    const { id, ...rest } = expectAnimal(readJson(response))
    deepStrictEqual(rest, { name, categoryId: '7', status: 'pending' })
    deepStrictEqual(await fetchOne(client, id), { id, ...rest })
  }),
  requirement('§4.2', 'createPet without a status is 201', async (client) => void (await add(client))),
  ...INVALID_PETS.map(({ title, body, source }) => {
    // Named so that an animal can be recognized in the environment if a faulty service adds it.
    const named = body.replace('"name":"x"', '"name":"conformance"')
    return requirement(source, `createPet with ${title} is 400`, rejected(400, '/pets', post(named)))
  }),
  ...MALFORMED_BODIES.map(({ title, body }) =>
    requirement('§4.2', `createPet with a body that is ${title} is 400`, rejected(400, '/pets', post(body))),
  ),
  ...VALID_CATEGORY_IDS.map((categoryId) =>
    requirement('§2', `categoryId ${categoryId} is returned without rounding`, async (client) => {
      const { id } = await add(client, { categoryId })
      strictEqual((await fetchOne(client, id)).categoryId, categoryId)
      strictEqual((await list(client, '?limit=100')).find((animal) => animal.id === id)?.categoryId, categoryId)
    }),
  ),
  ...VALID_NAMES.filter(({ name }) => [...name].length <= 255 - namePrefix.length).map(({ title, name }) =>
    requirement('§2', `a name with ${title} is returned unchanged`, async (client) => {
      const { id } = await add(client, { name: namePrefix + name })
      strictEqual((await fetchOne(client, id)).name, namePrefix + name)
    }),
  ),
  requirement('design', 'createPet ignores unknown members and id', async (client) => {
    const response = await create(client, '{"id":-5,"x":1,"name":"conformance","categoryId":1}')
    expectStatus(response, 201)
    deepStrictEqual(Object.keys(expectAnimal(readJson(response))), ['id', 'name', 'categoryId'])
  }),
  requirement('design', 'createPet returns the path of the new animal in Location', async (client) => {
    const response = await create(client, validPet)
    const { id } = expectAnimal(readJson(response))
    const location = expectHeader(response, 'location', /./)
    strictEqual(toPath(location, response), `${toPath('', response)}/${id}`, 'path in Location')
  }),
  requirement('design', 'createPet with text/plain is 415', rejected(415, '/pets', { method: 'POST', body: validPet })),
  requirement('design', 'createPet over 64 KiB is 413', rejected(413, '/pets', post(' '.repeat(70_000)))),
  requirement('design', 'createPet repeated with the same Idempotency-Key adds one animal', async (client) => {
    const headers = { 'Idempotency-Key': randomUUID() }
    const [first, second] = [await create(client, validPet, headers), await create(client, validPet, headers)]
    deepStrictEqual([second.status, second.text], [201, first.text])
    expectHeader(second, 'idempotent-replayed', /^true$/)
    expectError(await create(client, validPet.replace('1', '2'), headers), 422)
  }),

  // getPet
  requirement('§4.3', 'getPet is 200 with the Animal', async (client) => {
    // Without an animal in the environment, add reports that the case needs to write.
    const [newest] = client.readOnly ? await list(client, '?limit=1') : []
    const animal = newest ?? (await add(client, { status: 'sold' }))
    deepStrictEqual(await fetchOne(client, animal.id), animal)
  }),
  ...['9223372036854775807', '0', '-1'].map((id) =>
    requirement('§4.3', `getPet with the id ${id}, which does not exist, is 404`, rejected(404, `/pets/${id}`)),
  ),
  ...['abc', '1.0', '9223372036854775808', '+1'].map((id) =>
    requirement('design', `getPet with the id ${id}, which is not an int64, is 404`, rejected(404, `/pets/${id}`)),
  ),
  requirement('design', 'getPet has Deprecation and Sunset headers, and a link to its successor', async ({ send }) => {
    const response = await send('/pets/0')
    expectHeader(response, 'deprecation', /^@\d+$/)
    expectHeader(response, 'sunset', /^Thu, 05 Dec 2030 00:00:00 GMT$/)
    const link = expectHeader(response, 'link', /<[^>]*>; rel="successor-version"/)
    const successor = /<([^>]*)>; rel="successor-version"/.exec(link)?.[1] ?? ''
    strictEqual(`${toPath(successor, response)}/0`, toPath('', response), 'path of the successor of getPet')
  }),

  // Methods and paths
  requirement('design', 'an unsupported method is 405 with Allow', async ({ send }) => {
    const response = await send('/pets', { method: 'DELETE' })
    expectError(response, 405)
    expectHeader(response, 'allow', /GET.*POST/)
  }),
  requirement('design', 'an unknown path is 404', rejected(404, '/nothing')),
]

/** @returns the path of a reference, resolved against the URL of the request (RFC 3986 §5) */
function toPath(reference: string, { url }: ReceivedResponse): string {
  return new URL(reference, url).pathname
}

function post(body: string | Uint8Array, headers: Record<string, string> = {}): RequestOptions {
  return { method: 'POST', body, headers: { 'Content-Type': 'application/json', ...headers } }
}

const create = ({ send }: Client, body: string, headers = {}) => send('/pets', post(body, headers))

function rejected(status: number, path: string, options?: RequestOptions): Case['run'] {
  return async ({ send }) => expectError(await send(path, options), status)
}

type Pet = Partial<Omit<ReadAnimal, 'id'>>

async function addUnlessReadOnly(client: Client, pet?: Pet): Promise<ReadAnimal | undefined> {
  return client.readOnly ? undefined : add(client, pet)
}

/** Adds an animal. @returns it as the response contains it */
async function add(client: Client, pet: Pet = {}): Promise<ReadAnimal> {
  const { name = 'conformance', categoryId = '1', status } = pet
  const statusMember = status === undefined ? '' : `,"status":${JSON.stringify(status)}`
  const response = await create(client, `{"name":${JSON.stringify(name)},"categoryId":${categoryId}${statusMember}}`)
  expectStatus(response, 201)
  const animal = expectAnimal(readJson(response))
  deepStrictEqual({ status: undefined, ...animal }, { id: animal.id, name, categoryId, status })
  return animal
}

async function read({ send }: Client, path: string): Promise<unknown> {
  const response = await send(path)
  expectStatus(response, 200)
  return readJson(response)
}

async function list(client: Client, query: string): Promise<ReadAnimal[]> {
  const body = await read(client, `/pets${query}`)
  ok(Array.isArray(body), 'the body is an array')
  return body.map(expectAnimal)
}

const fetchOne = async (client: Client, id: string) => expectAnimal(await read(client, `/pets/${id}`))
