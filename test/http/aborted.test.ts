import { once } from 'node:events'
import { connect } from 'node:net'
import { expect } from 'vitest'
import { withClient, type TestService, testWithService as test, databaseOf } from '../support/harness.ts'
import { recordStatements } from '../support/statements.ts'
import { waitUntil } from '../support/timeouts.ts'

const body = JSON.stringify({ name: 'Rex', categoryId: 1, status: 'sold' })

/** A complete createPet request of each API. */
const createRequests = (service: TestService) =>
  [
    ['/v1/pets', body],
    [
      '/graphql',
      JSON.stringify({ query: `mutation { createPet(input: { name: "Rex", categoryId: 1, status: sold }) { id } }` }),
    ],
  ].map(([path, content = '']) =>
    [
      `POST ${path} HTTP/1.1`,
      'Host: x',
      `Authorization: Bearer ${service.key}`,
      'Content-Type: application/json',
      `Content-Length: ${content.length}\r\n\r\n${content}`,
    ].join('\r\n'),
  )

test('a connection closed or reset after any byte of a request creates a complete animal or none', async ({
  service,
}) => {
  const requests = createRequests(service)
  let complete = 0
  for (const request of requests) {
    for (let length = 0; length <= request.length; length += length < request.length - 5 ? 11 : 1) {
      for (const packet of ['fin', 'rst'] as const) {
        const socket = connect(service.port, '127.0.0.1').on('error', () => {})
        await new Promise<void>((sent) => socket.write(request.slice(0, length), () => sent()))
        const closed = once(socket, 'close')
        if (packet === 'fin') socket.destroy()
        else socket.resetAndDestroy()
        await closed
        if (length === request.length) complete++
      }
    }
  }
  expect((await service.post({ name: 'last', categoryId: 1 })).status).toBe(201)
  const animals = await animalsOf(service)
  expect(animals.length).toBeGreaterThan(0) // of the complete requests
  expect(animals.length).toBeLessThanOrEqual(complete)
  for (const animal of animals) expect(animal).toEqual(storedPet)
  expect((await fetch(`${service.base}/livez`)).status).toBe(200)
})

test('a client that disconnects during its insert leaves a complete animal', async ({ service }) => {
  await service.send('/v1/pets') // caches the key
  const { pool } = service.database
  const sent = recordStatements(service)
  await withClient(async (client) => {
    await client.query('BEGIN; LOCK TABLE animal IN ACCESS EXCLUSIVE MODE')
    const sockets = [...createRequests(service), ...createRequests(service)].map((request) => {
      const socket = connect(service.port, '127.0.0.1').on('error', () => {})
      socket.write(request)
      return socket
    })
    const animalsSent = () => sent.flatMap(({ values }) => JSON.parse(String(values[0])) as object[]).length
    await waitUntil(() => animalsSent() === sockets.length)
    sockets.forEach((socket, n) => (n < 2 ? socket.destroy() : socket.resetAndDestroy()))
    const disconnected = () => service.log.lines.filter(({ msg }) => msg === 'client disconnected')
    await waitUntil(() => disconnected().length === sockets.length)
    await client.query('ROLLBACK')
    await waitUntil(() => pool.idleCount === pool.totalCount)
  }, databaseOf(service))
  expect(await animalsOf(service)).toEqual([storedPet, storedPet, storedPet, storedPet])
  expect((await service.post({ name: 'last', categoryId: 1 })).status).toBe(201)
})

const storedPet = { name: 'Rex', c: 1, status: 'sold' }

/** @returns the stored animals of the aborted requests */
async function animalsOf(service: TestService): Promise<{ name: string }[]> {
  const { rows } = await withClient(
    (client) => client.query<{ name: string }>('SELECT name, category_id::int AS c, status FROM animal'),
    databaseOf(service),
  )
  return rows.filter(({ name }) => name !== 'last')
}
