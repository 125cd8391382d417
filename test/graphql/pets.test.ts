import { expect } from 'vitest'
import { openStream } from '../support/event-stream.ts'
import { testWithSharedService as test } from '../support/harness.ts'
import { waitFor } from '../support/timeouts.ts'

test('createPet with status null creates an animal without a status', async ({ service }) => {
  const query = 'mutation { createPet(input: { name: "x", categoryId: 1, status: null }) { id status } }'
  const { data } = await service.graphql(query)
  const id: string = data?.['createPet']?.['id'] ?? ''
  expect(data).toEqual({ createPet: { id, status: null } })
  expect(await (await service.send(`/v1/pets/${id}`)).text()).toBe(`{"id":${id},"name":"x","categoryId":1}`)
})

test('a stored value that this release does not know is INTERNAL, logged and counted', async ({ service }) => {
  const { pool } = service.database
  await pool.query(`ALTER TYPE pet_status ADD VALUE 'reserved'`) // as a newer release does
  const stream = await openStream(service, { query: 'subscription { petCreated { node { id status } } }' })
  const insert = `INSERT INTO animal (name, category_id, status) VALUES ('x', 1, 'reserved') RETURNING id`
  const { id } = (await pool.query(insert)).rows[0]
  await stream.received(1)
  stream.close()
  const event = JSON.parse(stream.events()[0]?.data ?? '')
  const result = await service.graphql(`{ pet(id: ${id}) { id status } }`)
  const extensions = { code: 'INTERNAL', status: 500 }
  const error = { message: 'Internal server error.', extensions }
  expect([event, result]).toMatchObject([
    { data: { petCreated: { node: { id, status: null } } }, errors: [error] },
    { data: { pet: { id, status: null } }, errors: [error] },
  ])
  await waitFor(async () => {
    expect(service.log.lines.filter(({ msg }) => msg === 'unexpected error')).toHaveLength(2)
    expect(await service.metric('petstore_errors_total{route="/graphql",code="INTERNAL"}')).toBe(2)
  })
})
