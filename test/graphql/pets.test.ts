import { expect } from 'vitest'
import { toCursor } from '../../src/animals/cursor.ts'
import { testWithService as test } from '../support/harness.ts'

test('after and before together select the animals between them', async ({ service }) => {
  await service.graphql('mutation ($p: [NewPet!]!) { createPets(inputs: $p) { id } }', {
    p: Array.from({ length: 7 }, () => ({ name: 'x', categoryId: '1' })),
  })
  const bounds = `after: "${toCursor(7n)}", before: "${toCursor(2n)}"`
  const { data } = await service.graphql(
    `{ all: pets(${bounds}) { nodes { id } } last: pets(${bounds}, last: 2) { nodes { id } } }`,
  )
  const nodes = ['6', '5', '4', '3'].map((id) => ({ id }))
  expect(data).toEqual({ all: { nodes }, last: { nodes: nodes.slice(2) } })
})

test.for([
  ['100 names of 255 letters of two bytes are created', 'ü', undefined],
  ['100 names of 255 emoji are 413, since a body has at most 64 KiB', '🦜', 'PAYLOAD_TOO_LARGE'],
] as const)('createPets: %s', async ([, letter, code], { service }) => {
  const names = Array(100).fill(letter.repeat(255))
  const { data, errors } = await service.graphql(
    'mutation ($p: [NewPet!]!) { createPets(inputs: $p) { name categoryId status } }',
    { p: names.map((name) => ({ name, categoryId: '-9223372036854775808', status: 'available' })) },
  )
  expect(errors?.[0]?.extensions.code).toBe(code)
  expect((data?.['createPets'] as { name: string }[] | undefined)?.map(({ name }) => name)).toEqual(
    code ? undefined : names,
  )
})

test('createPet with status null creates an animal without a status', async ({ service }) => {
  const query = 'mutation { createPet(input: { name: "x", categoryId: 1, status: null }) { id status } }'
  expect((await service.graphql(query)).data).toEqual({ createPet: { id: '1', status: null } })
  expect(await (await service.send('/v1/pets/1')).text()).toBe('{"id":1,"name":"x","categoryId":1}')
})
