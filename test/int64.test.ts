import { expect } from 'vitest'
import { VALID_CATEGORY_IDS } from './support/cases/new-pet.ts'
import { type TestService, testWithService as test } from './support/harness.ts'

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
  for (const digits of VALID_CATEGORY_IDS) {
    for (const [title, send] of writes) {
      const isRejected = title === 'GraphQL, as a number in a variable' && !isSafe(digits)
      const response = await send(service, digits)
      if (isRejected) expect(response, `${title}: ${digits}`).toMatch(/"code":"INVALID_ARGUMENT","status":400/)
      else expect(response, `${title}: ${digits}`).toMatch(new RegExp(`"categoryId":"?${digits}"?[,}]`))
    }
  }
  const { rows } = await service.database.pool.query(
    'SELECT category_id AS c, count(*)::int AS n FROM animal GROUP BY 1',
  )
  const counts = rows.map(({ c, n }: { c: string; n: number }) => [c, n]) // pg returns an int8 as text
  const expectedCount = (digits: string) => writes.length - 2 - (isSafe(digits) ? 0 : 1) // without the replays
  expect(new Map(counts as [string, number][])).toEqual(
    new Map(VALID_CATEGORY_IDS.map((digits) => [digits, expectedCount(digits)])),
  )
})

test('every read returns ids and categoryIds at the limits without rounding, and cursors work with them', async ({
  service,
}) => {
  const values = VALID_CATEGORY_IDS.map((digits) => `(${digits}, 'x', ${digits})`)
  await service.database.pool.query(`INSERT INTO animal (id, name, category_id) VALUES ${values.join()}`)
  for (const digits of VALID_CATEGORY_IDS) {
    const shown = new RegExp(`"id":"?${digits}"?,.*?"categoryId":"?${digits}"?[,}]`)
    for (const [title, read] of reads) expect(await read(service, digits), `${title}: ${digits}`).toMatch(shown)
  }
  const newestFirst = [...VALID_CATEGORY_IDS].sort((a, b) => (BigInt(a) < BigInt(b) ? 1 : -1))
  expect(await walkGraphQL(service)).toEqual(newestFirst)
})

/** @returns every id, from pages of one animal */
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
function sendGraphQL({ postGraphQL }: TestService, query: string, variables = '{}'): Promise<string> {
  return text(postGraphQL(`{"query":${JSON.stringify(query)},"variables":${variables}}`))
}
