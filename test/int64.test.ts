import { expect } from 'vitest'
import { VALID_CATEGORY_IDS } from './support/cases/new-pet.ts'
import { type TestService, testWithService as test } from './support/harness.ts'

const isSafe = (digits: string) => Number.isSafeInteger(Number(digits))
const create = (categoryId: string) => `createPet(input: { name: "x", categoryId: ${categoryId} }) { id categoryId }`
const withVariable = `mutation ($c: ID!) { ${create('$c')} }`

/** Ways to create an animal by GraphQL, besides that of test/parity.test.ts. Each returns the text of the response. */
const writes: [title: string, send: (service: TestService, digits: string) => Promise<string>][] = [
  ['in the document', (service, digits) => sendGraphQL(service, `mutation { ${create(digits)} }`)],
  ['as text in the document', (service, digits) => sendGraphQL(service, `mutation { ${create(`"${digits}"`)} }`)],
  ['as a number in a variable', (service, digits) => sendGraphQL(service, withVariable, `{"c":${digits}}`)],
]

const fields = '{ id categoryId }'

/** Ways of GraphQL to read an animal whose id and categoryId are the same; the conformance suite has those of REST. */
const reads: [title: string, read: (service: TestService, digits: string) => Promise<string>][] = [
  ['GraphQL pet', (service, digits) => sendGraphQL(service, `{ pet(id: ${digits}) ${fields} }`)],
  ['GraphQL pet, by text', (service, digits) => sendGraphQL(service, `{ pet(id: "${digits}") ${fields} }`)],
  [
    'GraphQL pet, by variable',
    (service, digits) => sendGraphQL(service, `query ($i: ID!) { pet(id: $i) ${fields} }`, `{"i":"${digits}"}`),
  ],
  ['GraphQL nodes', (service) => sendGraphQL(service, `{ pets { nodes ${fields} } }`)],
  ['GraphQL edges, from the end', (service) => sendGraphQL(service, `{ pets(last: 20) { edges { node ${fields} } } }`)],
]

test('GraphQL takes integers without rounding, and rejects numbers beyond 2^53 in variables', async ({ service }) => {
  for (const digits of VALID_CATEGORY_IDS) {
    for (const [title, send] of writes) {
      const isRejected = title === 'as a number in a variable' && !isSafe(digits)
      const expected = isRejected ? /"code":"INVALID_ARGUMENT","status":400/ : `"categoryId":"${digits}"`
      expect(await send(service, digits), `${title}: ${digits}`).toMatch(expected)
    }
  }
})

test('every read returns ids and categoryIds without rounding, and cursors work with them', async ({ service }) => {
  const values = VALID_CATEGORY_IDS.map((digits) => `(${digits}, 'x', ${digits})`)
  await service.database.pool.query(`INSERT INTO animal (id, name, category_id) VALUES ${values.join()}`)
  for (const digits of VALID_CATEGORY_IDS) {
    const shown = new RegExp(`"id":"?${digits}"?,.*?"categoryId":"?${digits}"?[,}]`)
    for (const [title, read] of reads) expect(await read(service, digits), `${title}: ${digits}`).toMatch(shown)
  }
  const newestFirst = [...VALID_CATEGORY_IDS].sort((a, b) => (BigInt(a) < BigInt(b) ? 1 : -1))
  const { data } = await service.graphql('{ pets { edges { cursor } } }')
  const cursors = (data?.['pets']?.['edges'] as { cursor: string }[] | undefined)?.map(({ cursor }) => cursor) ?? []
  for (const [n, cursor] of cursors.entries()) {
    const next = await service.graphql(`{ pets(first: 1, after: "${cursor}") { nodes { id } } }`)
    const nodes = newestFirst.slice(n + 1, n + 2).map((id) => ({ id }))
    expect(next).toEqual({ data: { pets: { nodes } } })
  }
  expect(cursors).toHaveLength(newestFirst.length)
})

const text = async (response: Promise<Response>) => (await response).text()

/** @param variables JSON text, so that numbers are sent unchanged */
function sendGraphQL({ postGraphQL }: TestService, query: string, variables = '{}'): Promise<string> {
  return text(postGraphQL(`{"query":${JSON.stringify(query)},"variables":${variables}}`))
}

test('of the long numbers of a body, those after the first 256 are rejected where used', async ({ service }) => {
  const digits = '9223372036854775807'
  const create = (others: number) => {
    const unknown = `"unknown":[${Array(others).fill('1e18').join()}]`
    const body = `{${unknown},"categoryId":${digits}.0,"name":"x"}`
    return service.send('/v1/pets', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body })
  }
  expect(await text(create(255))).toContain(`"categoryId":${digits}`)
  expect(await text(create(256))).toContain('"code":"INVALID_ARGUMENT"')

  const list = (others: number) => {
    const variables = `{"unknown":[${Array(others).fill('1e18').join()}],"n":1.00000000000000000}`
    return sendGraphQL(service, 'query ($n: Int) { pets(first: $n) { nodes { id } } }', variables)
  }
  expect(await list(255)).toMatch(/^\{"data"/)
  expect(await list(256)).toContain('"code":"INVALID_ARGUMENT"')
})
