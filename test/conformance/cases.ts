import { deepStrictEqual, ok, strictEqual } from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import type { Answer, Client, ReadAnimal } from './client.ts'
import { expectAnimal, expectError, expectHeader, expectStatus, readJson } from './client.ts'

/** One thing that must hold of an environment. */
export interface Case {
  /** Where it is written: a section of the specification, or the design where the specification is silent. */
  source: `§${string}` | 'design'
  title: string
  /** Throws when it does not hold. */
  run(client: Client): Promise<void>
}

const rex = '{"name":"conformance","categoryId":1}'

/** The contract's cases, black-box. They add animals to the store, all of them named "conformance …". */
export const cases: Case[] = [
  // Authentication
  ...[
    ['no Authorization', null],
    ['another scheme', 'Basic dXNlcjpwYXNz'],
    ['Bearer without a key', 'Bearer'],
    ['an invalid key', 'Bearer not-a-key'],
  ].flatMap(([what = '', authorization]): Case[] => [
    { source: '§5', title: `listPets with ${what} is 401`, run: unauthorized('/pets', authorization) },
    { source: '§5', title: `createPet with ${what} is 401`, run: unauthorized('/pets', authorization, 'POST') },
    { source: '§5', title: `getPet with ${what} is 401`, run: unauthorized('/pets/1', authorization) },
  ]),
  {
    source: 'design',
    title: '401 has WWW-Authenticate: Bearer',
    run: async ({ ask }) =>
      void expectHeader(await ask('/pets', { authorization: null }), 'www-authenticate', /^Bearer/),
  },

  // listPets
  {
    source: '§4.1',
    title: 'listPets is 200 with an array of Animal',
    async run(client) {
      await add(client)
      const animals = await list(client, '')
      ok(animals.length > 0, 'the animal just added is missing')
    },
  },
  {
    source: '§8',
    title: 'listPets gives 20 animals when nothing is said',
    async run(client) {
      for (let n = 0; n < 21; n++) await add(client)
      strictEqual((await list(client, '')).length, 20)
    },
  },
  ...[1, 2, 100].map((limit): Case => ({
    source: '§4.1',
    title: `listPets with limit=${limit} gives at most ${limit}`,
    async run(client) {
      await add(client)
      const { length } = await list(client, `?limit=${limit}`)
      ok(length >= 1 && length <= limit, `${length} animals`)
    },
  })),
  ...['available', 'pending', 'sold'].map((status): Case => ({
    source: '§4.1',
    title: `listPets with status=${status} keeps only those`,
    async run(client) {
      const { id } = await add(client, { status })
      const animals = await list(client, `?status=${status}&limit=100`)
      ok(
        animals.every((animal) => animal.status === status),
        'an animal with another status',
      )
      ok(
        animals.some((animal) => animal.id === id),
        'the animal just added is missing',
      )
    },
  })),
  ...['limit=0', 'limit=101', 'limit=abc', 'limit=', 'limit=1.5', 'limit=%2B5', 'status=unknown', 'status=', 'cursor=!']
    .concat('limit=1&limit=2')
    .map((query): Case => ({
      source: 'design',
      title: `listPets with ${query} is 400`,
      run: async ({ ask }) => expectError(await ask(`/pets?${query}`), 400),
    })),
  {
    source: 'design',
    title: 'listPets is newest first, and next leads to the older ones',
    async run(client) {
      const added = [await add(client), await add(client), await add(client)].map(({ id }) => id)
      const first = await client.ask('/pets?limit=2')
      const link = expectHeader(first, 'link', /rel="next"/)
      const cursor = /[?&]cursor=([^&>]+)[^>]*>; rel="next"/.exec(link)?.[1]
      const two = (readJson(first) as ReadAnimal[]).concat(await list(client, `?limit=2&cursor=${cursor}`))
      deepStrictEqual(
        two.slice(0, 3).map(({ id }) => id),
        added.reverse(),
      )
    },
  },
  {
    source: 'design',
    title: 'listPets with the ETag that it gave is 304',
    async run({ ask }) {
      const etag = expectHeader(await ask('/pets?limit=1'), 'etag', /^(W\/)?".+"$/)
      expectStatus(await ask('/pets?limit=1', { headers: { 'If-None-Match': etag } }), 304)
    },
  },

  // createPet
  {
    source: '§4.2',
    title: 'createPet is 201 with the Animal and its id',
    async run(client) {
      const name = `conformance ${randomUUID()}`
      const answer = await client.create(JSON.stringify({ name, categoryId: 7, status: 'pending' }))
      expectStatus(answer, 201)
      const { id, ...rest } = expectAnimal(readJson(answer))
      deepStrictEqual(rest, { name, categoryId: '7', status: 'pending' })
      deepStrictEqual(await fetchOne(client, id), { id, ...rest })
    },
  },
  {
    source: '§4.2',
    title: 'createPet without a status is 201',
    run: async (client) => void (await add(client)),
  },
  ...[
    '{"categoryId":1}',
    '{"name":"conformance"}',
    '{}',
    '{"name":null,"categoryId":1}',
    '{"name":5,"categoryId":1}',
    '{"name":"conformance","categoryId":null}',
    '{"name":"conformance","categoryId":"x"}',
    '{"name":"conformance","categoryId":1.5}',
    '{"name":"conformance","categoryId":9223372036854775808}',
    '{"name":"conformance","categoryId":1,"status":"unknown"}',
    '{"name":"conformance","categoryId":1,"status":5}',
    '[]',
    '{',
    '',
  ].map((body): Case => ({
    source: '§4.2',
    title: `createPet with ${body || 'no body'} is 400`,
    run: refused(body, 400),
  })),
  ...[
    '{"name":"","categoryId":1}',
    '{"name":"  ","categoryId":1}',
    `{"name":"${'x'.repeat(256)}","categoryId":1}`,
    '{"name":"a\\u0000b","categoryId":1}',
    '{"name":"\\ud800","categoryId":1}',
    '{"name":"conformance","categoryId":"1"}',
    '{"name":"conformance","categoryId":1,"status":null}',
  ].map((body): Case => ({
    source: 'design',
    title: `createPet with ${body.slice(0, 60)} is 400`,
    run: refused(body, 400),
  })),
  ...['0', '-1', '9007199254740993', '9223372036854775807', '-9223372036854775808'].map((categoryId): Case => ({
    source: '§2',
    title: `categoryId ${categoryId} is kept to the digit`,
    async run(client) {
      const { id } = await add(client, { categoryId })
      strictEqual((await fetchOne(client, id)).categoryId, categoryId)
      strictEqual((await list(client, '?limit=100')).find((animal) => animal.id === id)?.categoryId, categoryId)
    },
  })),
  ...['Zoë 🦜', '<b>"\'\\', 'a\u2028b', '\u202eabc'].map((name): Case => ({
    source: '§2',
    title: `the name ${JSON.stringify(name)} is kept as it is`,
    async run(client) {
      const { id } = await add(client, { name: `conformance ${name}` })
      strictEqual((await fetchOne(client, id)).name, `conformance ${name}`)
    },
  })),
  {
    source: 'design',
    title: 'createPet ignores unknown members and id',
    async run(client) {
      const answer = await client.create('{"id":-5,"x":1,"name":"conformance","categoryId":1}')
      expectStatus(answer, 201)
      deepStrictEqual(Object.keys(expectAnimal(readJson(answer))), ['id', 'name', 'categoryId'])
    },
  },
  {
    source: 'design',
    title: 'createPet says where the new animal is',
    async run(client) {
      const answer = await client.create('{"name":"conformance","categoryId":1}')
      const { id } = expectAnimal(readJson(answer))
      const location = expectHeader(answer, 'location', /./)
      strictEqual(toPath(location, answer), `${toPath('', answer)}/${id}`, 'path that Location leads to')
    },
  },
  {
    source: 'design',
    title: 'createPet with text/plain is 415',
    run: refused('{}', 415, { 'Content-Type': 'text/plain' }),
  },
  { source: 'design', title: 'createPet over 64 KiB is 413', run: refused(' '.repeat(70_000), 413) },
  {
    source: 'design',
    title: 'createPet repeated with its Idempotency-Key adds one animal',
    async run({ create }) {
      const headers = { 'Idempotency-Key': randomUUID() }
      const [first, second] = [await create(rex, headers), await create(rex, headers)]
      deepStrictEqual([second.status, second.text], [201, first.text])
      expectHeader(second, 'idempotent-replayed', /^true$/)
      expectError(await create(rex.replace('1', '2'), headers), 422)
    },
  },

  // getPet
  {
    source: '§4.3',
    title: 'getPet is 200 with the Animal',
    async run(client) {
      const animal = await add(client, { status: 'sold' })
      deepStrictEqual(await fetchOne(client, animal.id), animal)
    },
  },
  ...['9223372036854775807', '0', '-1'].map((id): Case => ({
    source: '§4.3',
    title: `getPet of ${id}, which there is not, is 404`,
    run: async ({ ask }) => expectError(await ask(`/pets/${id}`), 404),
  })),
  ...['abc', '1.0', '9223372036854775808', '+1'].map((id): Case => ({
    source: 'design',
    title: `getPet of ${id}, which is no int64, is 404`,
    run: async ({ ask }) => expectError(await ask(`/pets/${id}`), 404),
  })),
  {
    source: 'design',
    title: 'getPet says that it is deprecated, and until when',
    async run({ ask }) {
      const answer = await ask('/pets/0')
      expectHeader(answer, 'deprecation', /^@\d+$/)
      expectHeader(answer, 'sunset', /^Thu, 05 Dec 2030 00:00:00 GMT$/)
      const link = expectHeader(answer, 'link', /<[^>]*>; rel="successor-version"/)
      const successor = /<([^>]*)>; rel="successor-version"/.exec(link)?.[1] ?? ''
      strictEqual(`${toPath(successor, answer)}/0`, toPath('', answer), 'path that the successor of getPet has')
    },
  },

  // Everything else
  {
    source: 'design',
    title: 'another method is 405 with Allow',
    async run({ ask }) {
      const answer = await ask('/pets', { method: 'DELETE' })
      expectError(answer, 405)
      expectHeader(answer, 'allow', /GET.*POST/)
    },
  },
  { source: 'design', title: 'another path is 404', run: async ({ ask }) => expectError(await ask('/nothing'), 404) },
]

/** The path of a reference, resolved against the URL of the request (RFC 3986 §5). */
function toPath(reference: string, { url }: Answer): string {
  return new URL(reference, url).pathname
}

function unauthorized(path: string, authorization: string | null | undefined, method = 'GET') {
  const body = method === 'POST' ? { body: rex, headers: { 'Content-Type': 'application/json' } } : {}
  return async ({ ask }: Client) =>
    expectError(await ask(path, { method, authorization: authorization ?? null, ...body }), 401)
}

function refused(body: string, status: number, headers?: Record<string, string>) {
  return async ({ create }: Client) => expectError(await create(body, headers), status)
}

/** Adds an animal and gives it back as the service has it. */
async function add(
  client: Client,
  pet: { name?: string; categoryId?: string; status?: string } = {},
): Promise<ReadAnimal> {
  const { name = 'conformance', categoryId = '1', status } = pet
  const more = status === undefined ? '' : `,"status":${JSON.stringify(status)}`
  const answer = await client.create(`{"name":${JSON.stringify(name)},"categoryId":${categoryId}${more}}`)
  expectStatus(answer, 201)
  const animal = expectAnimal(readJson(answer))
  deepStrictEqual(
    { name: animal.name, categoryId: animal.categoryId, status: animal.status },
    { name, categoryId, status },
  )
  return animal
}

async function list({ ask }: Client, query: string): Promise<ReadAnimal[]> {
  const answer: Answer = await ask(`/pets${query}`)
  expectStatus(answer, 200)
  const body = readJson(answer)
  ok(Array.isArray(body), 'the body is an array')
  return body.map(expectAnimal)
}

async function fetchOne({ ask }: Client, id: string): Promise<ReadAnimal> {
  const answer = await ask(`/pets/${id}`)
  expectStatus(answer, 200)
  return expectAnimal(readJson(answer))
}
