import { expect } from 'vitest'
import { withClient, type TestService, testWithService as test, databaseOf } from './support/harness.ts'

const edges = ['0', '1', '-1', '2147483647', '2147483648', '2147483649', '-2147483648', '-2147483649']
edges.push('9007199254740991', '9007199254740992', '9007199254740993', '-9007199254740991', '-9007199254740993')
edges.push('9223372036854775807', '-9223372036854775808')

const isSafe = (digits: string) => Number.isSafeInteger(Number(digits))
const create = (categoryId: string, extraArguments = '') =>
  `createPet(input: { name: "x", categoryId: ${categoryId} }${extraArguments}) { id categoryId }`
const withVariable = `mutation ($c: ID!) { ${create('$c')} }`

const createOnce = (service: TestService, digits: string) =>
  sendGraphQL(service, `mutation { ${create(digits, `, idempotencyKey: "g${digits}"`)} }`)

/** Every way to create an animal. Each returns the text of the response. */
const writes: [title: string, send: (service: TestService, digits: string) => Promise<string>][] = [
  ['REST', ({ post }, digits) => text(post(`{"name":"x","categoryId":${digits}}`))],
  [
    'REST, with an Idempotency-Key',
    ({ post }, digits) => text(post(`{"name":"x","categoryId":${digits}}`, { 'Idempotency-Key': digits })),
  ],
  [
    'REST, replayed',
    ({ post }, digits) => text(post(`{"categoryId":${digits},"name":"x"}`, { 'Idempotency-Key': digits })),
  ],
  ['GraphQL, in the document', (service, digits) => sendGraphQL(service, `mutation { ${create(digits)} }`)],
  [
    'GraphQL, as text in the document',
    (service, digits) => sendGraphQL(service, `mutation { ${create(`"${digits}"`)} }`),
  ],
  ['GraphQL, with an idempotencyKey', createOnce],
  ['GraphQL, replayed', createOnce],
  ['GraphQL, as text in a variable', (service, digits) => sendGraphQL(service, withVariable, `{"c":"${digits}"}`)],
  ['GraphQL, as a number in a variable', (service, digits) => sendGraphQL(service, withVariable, `{"c":${digits}}`)],
]

const fields = '{ id categoryId }'

/** Every way to read an animal whose id and categoryId are the same. Each returns the text of the response. */
const reads: [title: string, read: (service: TestService, digits: string) => Promise<string>][] = [
  ['REST get', ({ send }, digits) => text(send(`/v1/pets/${digits}`))],
  ['REST list', ({ send }) => text(send('/v1/pets'))],
  ['GraphQL pet', (service, digits) => sendGraphQL(service, `{ pet(id: ${digits}) ${fields} }`)],
  ['GraphQL pet, by text', (service, digits) => sendGraphQL(service, `{ pet(id: "${digits}") ${fields} }`)],
  [
    'GraphQL pet, by variable',
    (service, digits) => sendGraphQL(service, `query ($i: ID!) { pet(id: $i) ${fields} }`, `{"i":"${digits}"}`),
  ],
  ['GraphQL nodes', (service) => sendGraphQL(service, `{ pets { nodes ${fields} } }`)],
  ['GraphQL edges, from the end', (service) => sendGraphQL(service, `{ pets(last: 20) { edges { node ${fields} } } }`)],
]

test('every write stores integers at the limits without rounding, and rejects numbers beyond 2^53 in variables', async ({
  service,
}) => {
  for (const digits of edges) {
    for (const [title, send] of writes) {
      const isRejected = title === 'GraphQL, as a number in a variable' && !isSafe(digits)
      const response = await send(service, digits)
      if (isRejected) expect(response, `${title}: ${digits}`).toMatch(/"code":"INVALID_ARGUMENT","status":400/)
      else expect(response, `${title}: ${digits}`).toMatch(new RegExp(`"categoryId":"?${digits}"?[,}]`))
    }
  }
  const { rows } = await inDatabase(service, 'SELECT category_id AS c, count(*)::int AS n FROM animal GROUP BY 1')
  const counts = rows.map(({ c, n }: { c: string; n: number }) => [c, n]) // pg returns an int8 as text
  const expectedCount = (digits: string) => writes.length - 2 - (isSafe(digits) ? 0 : 1) // without the replays
  expect(new Map(counts as [string, number][])).toEqual(new Map(edges.map((digits) => [digits, expectedCount(digits)])))
})

test('every read returns ids and categoryIds at the limits without rounding, and cursors work with them', async ({
  service,
}) => {
  const values = edges.map((digits) => `(${digits}, 'x', ${digits})`)
  await inDatabase(service, `INSERT INTO animal (id, name, category_id) VALUES ${values.join()}`)
  for (const digits of edges) {
    const shown = new RegExp(`"id":"?${digits}"?,.*?"categoryId":"?${digits}"?[,}]`)
    for (const [title, read] of reads) expect(await read(service, digits), `${title}: ${digits}`).toMatch(shown)
  }
  const newestFirst = [...edges].sort((a, b) => (BigInt(a) < BigInt(b) ? 1 : -1))
  expect(await walkRest(service)).toEqual(newestFirst)
  expect(await walkGraphQL(service)).toEqual(newestFirst)
})

/** @returns every id, from pages of one animal */
async function walkRest({ send }: TestService): Promise<string[]> {
  const ids: string[] = []
  for (let path: string | undefined = '/v1/pets?limit=1'; path;) {
    const response: Response = await send(path)
    ids.push(/"id":(-?\d+)/.exec(await response.text())?.[1] ?? '')
    path = /<([^>]*)>; rel="next"/.exec(response.headers.get('link') ?? '')?.[1]
  }
  return ids
}

async function walkGraphQL(service: TestService): Promise<string[]> {
  const ids: string[] = []
  for (let after = 'null'; after;) {
    const page = await sendGraphQL(
      service,
      `{ pets(first: 1, after: ${after}) { nodes { id } pageInfo { hasNextPage endCursor } } }`,
    )
    ids.push(/"id":"(-?\d+)"/.exec(page)?.[1] ?? '')
    after = page.includes('"hasNextPage":true') ? (/"endCursor":("[^"]*")/.exec(page)?.[1] ?? '') : ''
  }
  return ids
}

const text = async (response: Promise<Response>) => (await response).text()

/** @param variables JSON text, so that numbers are sent unchanged */
function sendGraphQL({ send }: TestService, query: string, variables = '{}'): Promise<string> {
  const body = `{"query":${JSON.stringify(query)},"variables":${variables}}`
  return text(send('/graphql', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body }))
}

const inDatabase = (service: TestService, sql: string) => withClient((client) => client.query(sql), databaseOf(service))
