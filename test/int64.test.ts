import { expect } from 'vitest'
import { withClient, type TestService, testWithService as test } from './support/harness.ts'

const edges = ['0', '1', '-1', '2147483647', '2147483648', '2147483649', '-2147483648', '-2147483649']
edges.push('9007199254740991', '9007199254740992', '9007199254740993', '-9007199254740991', '-9007199254740993')
edges.push('9223372036854775807', '-9223372036854775808')

const isSafe = (digits: string) => Number.isSafeInteger(Number(digits))
const create = (categoryId: string, more = '') =>
  `createPet(input: { name: "x", categoryId: ${categoryId} }${more}) { id categoryId }`
const withVariable = `mutation ($c: ID!) { ${create('$c')} }`

/** Every way in for a category: the text of the answer that acknowledges the animal. */
const waysIn: [string, (service: TestService, digits: string) => Promise<string>][] = [
  ['REST', ({ post }, digits) => text(post(`{"name":"x","categoryId":${digits}}`))],
  [
    'REST, once',
    ({ post }, digits) => text(post(`{"name":"x","categoryId":${digits}}`, { 'Idempotency-Key': digits })),
  ],
  [
    'REST, again',
    ({ post }, digits) => text(post(`{"categoryId":${digits},"name":"x"}`, { 'Idempotency-Key': digits })),
  ],
  ['GraphQL, in the document', (service, digits) => ask(service, `mutation { ${create(digits)} }`)],
  ['GraphQL, as text in the document', (service, digits) => ask(service, `mutation { ${create(`"${digits}"`)} }`)],
  [
    'GraphQL, once',
    (service, digits) => ask(service, `mutation { ${create(digits, `, idempotencyKey: "g${digits}"`)} }`),
  ],
  [
    'GraphQL, again',
    (service, digits) => ask(service, `mutation { ${create(digits, `, idempotencyKey: "g${digits}"`)} }`),
  ],
  ['GraphQL, as text in a variable', (service, digits) => ask(service, withVariable, `{"c":"${digits}"}`)],
  ['GraphQL, as a number in a variable', (service, digits) => ask(service, withVariable, `{"c":${digits}}`)],
]

const fields = '{ id categoryId }'

/** Every way out for an animal whose id and category are the same digits: each names them so many times. */
const waysOut: [string, (service: TestService, digits: string) => Promise<string>][] = [
  ['REST get', ({ send }, digits) => text(send(`/v1/pets/${digits}`))],
  ['REST list', ({ send }) => text(send('/v1/pets'))],
  ['GraphQL pet', (service, digits) => ask(service, `{ pet(id: ${digits}) ${fields} }`)],
  ['GraphQL pet, by text', (service, digits) => ask(service, `{ pet(id: "${digits}") ${fields} }`)],
  [
    'GraphQL pet, by variable',
    (service, digits) => ask(service, `query ($i: ID!) { pet(id: $i) ${fields} }`, `{"i":"${digits}"}`),
  ],
  ['GraphQL nodes', (service) => ask(service, `{ pets { nodes ${fields} } }`)],
  ['GraphQL edges, from the end', (service) => ask(service, `{ pets(last: 20) { edges { node ${fields} } } }`)],
]

test('an integer at any edge comes in by every way as the same digits; a number past 2^53 in variables is refused', async ({
  service,
}) => {
  for (const digits of edges) {
    for (const [way, send] of waysIn) {
      const refused = way === 'GraphQL, as a number in a variable' && !isSafe(digits)
      const answer = await send(service, digits)
      if (refused) expect(answer, `${way}: ${digits}`).toMatch(/"code":"INVALID_ARGUMENT","status":400/)
      else expect(answer, `${way}: ${digits}`).toMatch(new RegExp(`"categoryId":"?${digits}"?[,}]`))
    }
  }
  const { rows } = await inDatabase(service, 'SELECT category_id AS c, count(*)::int AS n FROM animal GROUP BY 1')
  const made = rows.map(({ c, n }: { c: string; n: number }) => [c, n]) // pg gives an int8 as text
  const ways = (digits: string) => waysIn.length - 2 - (isSafe(digits) ? 0 : 1) // less the repetitions
  expect(new Map(made as [string, number][])).toEqual(new Map(edges.map((digits) => [digits, ways(digits)])))
})

test('an id and a category at any edge go out by every way as the same digits, and lead to the next page', async ({
  service,
}) => {
  const values = edges.map((digits) => `(${digits}, 'x', ${digits})`)
  await inDatabase(service, `INSERT INTO animal (id, name, category_id) VALUES ${values.join()}`)
  for (const digits of edges) {
    const shown = new RegExp(`"id":"?${digits}"?,.*?"categoryId":"?${digits}"?[,}]`)
    for (const [way, read] of waysOut) expect(await read(service, digits), `${way}: ${digits}`).toMatch(shown)
  }
  const newestFirst = [...edges].sort((a, b) => (BigInt(a) < BigInt(b) ? 1 : -1))
  expect(await walkRest(service)).toEqual(newestFirst)
  expect(await walkGraphQL(service)).toEqual(newestFirst)
})

/** Every id, a page of one at a time. */
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
    const page = await ask(
      service,
      `{ pets(first: 1, after: ${after}) { nodes { id } pageInfo { hasNextPage endCursor } } }`,
    )
    ids.push(/"id":"(-?\d+)"/.exec(page)?.[1] ?? '')
    after = page.includes('"hasNextPage":true') ? (/"endCursor":("[^"]*")/.exec(page)?.[1] ?? '') : ''
  }
  return ids
}

const text = async (response: Promise<Response>) => (await response).text()

/** @param variables as JSON text, so that a number is sent as it is written */
function ask({ send }: TestService, query: string, variables = '{}'): Promise<string> {
  const body = `{"query":${JSON.stringify(query)},"variables":${variables}}`
  return text(send('/graphql', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body }))
}

const inDatabase = (service: TestService, sql: string) =>
  withClient((client) => client.query(sql), new URL(service.databaseUrl).pathname.slice(1))
