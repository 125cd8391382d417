import { expect } from 'vitest'
import { toCursor } from '../../src/animals/cursor.ts'
import { testWithService as test } from '../support/harness.ts'

test('after and before together select the animals between them', async ({ service }) => {
  for (let n = 0; n < 7; n++) await service.post({ name: 'x', categoryId: 1 })
  const bounds = `after: "${toCursor(7n)}", before: "${toCursor(2n)}"`
  const { data } = await service.graphql(
    `{ all: pets(${bounds}) { nodes { id } } last: pets(${bounds}, last: 2) { nodes { id } } }`,
  )
  const nodes = ['6', '5', '4', '3'].map((id) => ({ id }))
  expect(data).toEqual({ all: { nodes }, last: { nodes: nodes.slice(2) } })
})

test('createPet with status null creates an animal without a status', async ({ service }) => {
  const query = 'mutation { createPet(input: { name: "x", categoryId: 1, status: null }) { id status } }'
  expect((await service.graphql(query)).data).toEqual({ createPet: { id: '1', status: null } })
  expect(await (await service.send('/v1/pets/1')).text()).toBe('{"id":1,"name":"x","categoryId":1}')
})
