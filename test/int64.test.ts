import { expect } from 'vitest'
import { onServer, type Running, test } from './support/harness.ts'

const edges = ['0', '1', '-1', '2147483647', '2147483648', '2147483649', '-2147483648', '-2147483649']
edges.push('9007199254740991', '9007199254740992', '9007199254740993', '-9007199254740991', '-9007199254740993')
edges.push('9223372036854775807', '-9223372036854775808')

const isSafe = (digits: string) => Number.isSafeInteger(Number(digits))
const create = (categoryId: string, more = '') =>
  `createPet(input: { name: "x", categoryId: ${categoryId} }${more}) { id categoryId }`
const withVariable = `mutation ($c: ID!) { ${create('$c')} }`

/** Every way in for a category: the text of the answer that acknowledges the animal. */
const waysIn: [string, (running: Running, digits: string) => Promise<string>][] = [
  ['REST', ({ post }, digits) => text(post(`{"name":"x","categoryId":${digits}}`))],
  [
    'REST, once',
    ({ post }, digits) => text(post(`{"name":"x","categoryId":${digits}}`, { 'Idempotency-Key': digits })),
  ],
  [
    'REST, again',
    ({ post }, digits) => text(post(`{"categoryId":${digits},"name":"x"}`, { 'Idempotency-Key': digits })),
  ],
  ['GraphQL, in the document', (running, digits) => ask(running, `mutation { ${create(digits)} }`)],
  ['GraphQL, as text in the document', (running, digits) => ask(running, `mutation { ${create(`"${digits}"`)} }`)],
  [
    'GraphQL, once',
    (running, digits) => ask(running, `mutation { ${create(digits, `, idempotencyKey: "g${digits}"`)} }`),
  ],
  [
    'GraphQL, again',
    (running, digits) => ask(running, `mutation { ${create(digits, `, idempotencyKey: "g${digits}"`)} }`),
  ],
  ['GraphQL, as text in a variable', (running, digits) => ask(running, withVariable, `{"c":"${digits}"}`)],
  ['GraphQL, as a number in a variable', (running, digits) => ask(running, withVariable, `{"c":${digits}}`)],
]

const fields = '{ id categoryId }'

/** Every way out for an animal whose id and category are the same digits: each names them so many times. */
const waysOut: [string, (running: Running, digits: string) => Promise<string>][] = [
  ['REST get', ({ send }, digits) => text(send(`/v1/pets/${digits}`))],
  ['REST list', ({ send }) => text(send('/v1/pets'))],
  ['GraphQL pet', (running, digits) => ask(running, `{ pet(id: ${digits}) ${fields} }`)],
  ['GraphQL pet, by text', (running, digits) => ask(running, `{ pet(id: "${digits}") ${fields} }`)],
  [
    'GraphQL pet, by variable',
    (running, digits) => ask(running, `query ($i: ID!) { pet(id: $i) ${fields} }`, `{"i":"${digits}"}`),
  ],
  ['GraphQL nodes', (running) => ask(running, `{ pets { nodes ${fields} } }`)],
  ['GraphQL edges, from the end', (running) => ask(running, `{ pets(last: 20) { edges { node ${fields} } } }`)],
]

test('an integer at any edge comes in by every way as the same digits; a number past 2^53 in variables is refused', async ({
  running,
}) => {
  for (const digits of edges) {
    for (const [way, send] of waysIn) {
      const refused = way === 'GraphQL, as a number in a variable' && !isSafe(digits)
      const answer = await send(running, digits)
      if (refused) expect(answer, `${way}: ${digits}`).toMatch(/"code":"INVALID_ARGUMENT","status":400/)
      else expect(answer, `${way}: ${digits}`).toMatch(new RegExp(`"categoryId":"?${digits}"?[,}]`))
    }
  }
  const { rows } = await inDatabase(running, 'SELECT category_id AS c, count(*)::int AS n FROM animal GROUP BY 1')
  const made = rows.map(({ c, n }: { c: string; n: number }) => [c, n]) // pg gives an int8 as text
  const ways = (digits: string) => waysIn.length - 2 - (isSafe(digits) ? 0 : 1) // less the repetitions
  expect(new Map(made as [string, number][])).toEqual(new Map(edges.map((digits) => [digits, ways(digits)])))
})

test('an id and a category at any edge go out by every way as the same digits, and lead to the next page', async ({
  running,
}) => {
  const values = edges.map((digits) => `(${digits}, 'x', ${digits})`)
  await inDatabase(running, `INSERT INTO animal (id, name, category_id) VALUES ${values.join()}`)
  for (const digits of edges) {
    const shown = new RegExp(`"id":"?${digits}"?,.*?"categoryId":"?${digits}"?[,}]`)
    for (const [way, read] of waysOut) expect(await read(running, digits), `${way}: ${digits}`).toMatch(shown)
  }
  const newestFirst = [...edges].sort((a, b) => (BigInt(a) < BigInt(b) ? 1 : -1))
  expect(await walkRest(running)).toEqual(newestFirst)
  expect(await walkGraphQL(running)).toEqual(newestFirst)
})

/** Every id, a page of one at a time. */
async function walkRest({ send }: Running): Promise<string[]> {
  const ids: string[] = []
  for (let path: string | undefined = '/v1/pets?limit=1'; path;) {
    const response: Response = await send(path)
    ids.push(/"id":(-?\d+)/.exec(await response.text())?.[1] ?? '')
    path = /<([^>]*)>; rel="next"/.exec(response.headers.get('link') ?? '')?.[1]
  }
  return ids
}

async function walkGraphQL(running: Running): Promise<string[]> {
  const ids: string[] = []
  for (let after = 'null'; after;) {
    const page = await ask(
      running,
      `{ pets(first: 1, after: ${after}) { nodes { id } pageInfo { hasNextPage endCursor } } }`,
    )
    ids.push(/"id":"(-?\d+)"/.exec(page)?.[1] ?? '')
    after = page.includes('"hasNextPage":true') ? (/"endCursor":("[^"]*")/.exec(page)?.[1] ?? '') : ''
  }
  return ids
}

const text = async (response: Promise<Response>) => (await response).text()

/** @param variables as JSON text, so that a number is sent as it is written */
function ask({ send }: Running, query: string, variables = '{}'): Promise<string> {
  const body = `{"query":${JSON.stringify(query)},"variables":${variables}}`
  return text(send('/graphql', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body }))
}

const inDatabase = (running: Running, sql: string) =>
  onServer((client) => client.query(sql), new URL(running.databaseUrl).pathname.slice(1))
