import { expect } from 'vitest'
import { VALID_CATEGORY_IDS } from './support/cases/new-pet.ts'
import { testWithSharedService as test } from './support/harness.ts'

const fields = '{ id categoryId }'
const createPet = (categoryId: string) => `createPet(input: { name: "x", categoryId: ${categoryId} }) ${fields}`

// Text in a variable is in test/parity.test.ts.
test('GraphQL takes integers without rounding, and rejects numbers beyond 2^53 in variables', async ({ service }) => {
  for (const digits of VALID_CATEGORY_IDS) {
    const inDocument = `mutation { number: ${createPet(digits)} text: ${createPet(`"${digits}"`)} }`
    const { data } = await service.graphql(inDocument)
    expect(data).toMatchObject({ number: { categoryId: digits }, text: { categoryId: digits } })
    const query = JSON.stringify(`mutation ($c: ID!) { ${createPet('$c')} }`)
    const inVariable = await service.postGraphQL(`{"query":${query},"variables":{"c":${digits}}}`)
    const isSafe = Number.isSafeInteger(Number(digits))
    const expected = isSafe ? `"categoryId":"${digits}"` : '"code":"INVALID_ARGUMENT","status":400'
    expect(await inVariable.text(), digits).toContain(expected)
  }
})

// The conformance suite has the reads of REST.
test('every read returns ids and categoryIds without rounding, and cursors work with them', async ({ service }) => {
  const values = VALID_CATEGORY_IDS.map((digits) => `(${digits}, 'x', ${digits})`)
  // The sequence goes on behind the small ones of these ids.
  await service.database.pool.query(`
    TRUNCATE animal CASCADE; SELECT setval('animal_id_seq', 1000);
    INSERT INTO animal (id, name, category_id) VALUES ${values.join()}`)
  const newestFirst = [...VALID_CATEGORY_IDS].sort((a, b) => (BigInt(a) < BigInt(b) ? 1 : -1))
  const all = newestFirst.map((id) => ({ id, categoryId: id }))
  const lists = `{ pets { nodes ${fields} edges { cursor } } last: pets(last: 20) { edges { node ${fields} } } }`
  const { data } = await service.graphql(lists)
  expect(data).toMatchObject({ pets: { nodes: all }, last: { edges: all.map((node) => ({ node })) } })
  const edges: { cursor: string }[] = data?.['pets']?.['edges'] ?? []
  for (const [n, pet] of all.entries()) {
    const reads = [`{ pet(id: ${pet.id}) ${fields} }`, `query ($i: ID!) { pet(id: $i) ${fields} }`]
    for (const read of reads) expect(await service.graphql(read, { i: pet.id }), read).toEqual({ data: { pet } })
    const next = await service.graphql(`{ pets(first: 1, after: "${edges[n]?.cursor}") { nodes ${fields} } }`)
    expect(next).toEqual({ data: { pets: { nodes: all.slice(n + 1, n + 2) } } })
  }
})

test('of the long numbers of a body, those after the first 256 are rejected where used', async ({ service }) => {
  const digits = '9223372036854775807'
  const create = async (others: number) => {
    const unknown = Array(others).fill('1e18').join()
    return (await service.post(`{"unknown":[${unknown}],"categoryId":${digits}.0,"name":"x"}`)).text()
  }
  expect(await create(255)).toContain(`"categoryId":${digits}`)
  expect(await create(256)).toContain('"code":"INVALID_ARGUMENT"')
})
