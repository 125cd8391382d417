import { connect } from 'node:net'
import { expect } from 'vitest'
import { withClient, type TestService, testWithService as test, databaseOf } from '../support/harness.ts'
import { recordStatements } from '../support/statements.ts'
import { stopClock, waitUntil } from '../support/timeouts.ts'

/** A complete createPet request of each API. */
const createRequests = ({ key }: TestService) =>
  [
    { path: '/v1/pets', content: { name: 'Rex', categoryId: 1, status: 'sold' } },
    {
      path: '/graphql',
      content: { query: `mutation { createPet(input: { name: "Rex", categoryId: 1, status: sold }) { id } }` },
    },
  ].map(({ path, content }) => {
    const body = JSON.stringify(content)
    const lines = `Host: x\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\n`
    return `POST ${path} HTTP/1.1\r\n${lines}Content-Length: ${body.length}\r\n\r\n${body}`
  })

test('a client that disconnects is logged as 499: during its insert it leaves a complete animal, within its body none', async ({
  service,
}) => {
  stopClock() // the key stays in the cache, so that no statement looks it up again
  await service.send('/v1/pets')
  const { pool } = service.database
  const sent = recordStatements(service)
  await withClient(async (client) => {
    await client.query('BEGIN; LOCK TABLE animal IN ACCESS EXCLUSIVE MODE')
    const complete = [...createRequests(service), ...createRequests(service)]
    const incomplete = createRequests(service).map((request) => request.slice(0, -1))
    const sockets = [...incomplete, ...complete].map((request) => {
      const socket = connect(service.port, '127.0.0.1').on('error', () => {})
      socket.write(request)
      return socket
    })
    const animalsSent = () => sent.flatMap(({ values }) => JSON.parse(String(values[0])) as object[]).length
    await waitUntil(() => animalsSent() === complete.length) // the service has read what was sent before, too
    sockets.forEach((socket, n) => (n < 4 ? socket.resetAndDestroy() : socket.destroy()))
    const disconnected = () =>
      service.log.lines.filter(({ msg, status }) => msg === 'client disconnected' && status === 499)
    await waitUntil(() => disconnected().length === sockets.length)
    await client.query('ROLLBACK')
    await waitUntil(() => pool.idleCount === pool.totalCount)
  }, databaseOf(service))
  const stored = { id: expect.any(Number), name: 'Rex', categoryId: 1, status: 'sold' }
  expect(await (await service.send('/v1/pets')).json()).toEqual([stored, stored, stored, stored])
  expect((await service.post({ name: 'last', categoryId: 1 })).status).toBe(201)
})
