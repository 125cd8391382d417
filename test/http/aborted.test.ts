import { expect } from 'vitest'
import { type TestService, testWithService as test } from '../support/harness.ts'
import { whileLocked } from '../support/locks.ts'
import { openSocket, rawPost } from '../support/raw-http.ts'
import { recordStatements } from '../support/statements.ts'
import { stopClock, waitUntil } from '../support/timeouts.ts'

const pet = { name: 'Rex', categoryId: 1, status: 'sold' }

/** A complete createPet request of each API. */
const createRequests = ({ key }: TestService) => {
  const query = 'mutation { createPet(input: { name: "Rex", categoryId: 1, status: sold }) { id } }'
  return [rawPost({ key, body: pet }), rawPost({ path: '/graphql', key, body: { query } })]
}

test('a client that disconnects is logged as 499: during its insert it leaves a complete animal, within its body none [W7]', async ({
  service,
}) => {
  stopClock() // the key stays in the cache, so that no statement looks it up again
  await service.send('/v1/pets')
  const { pool } = service.database
  const sent = recordStatements(service)
  await whileLocked(service, async (unlock) => {
    const complete = [...createRequests(service), ...createRequests(service)]
    const incomplete = createRequests(service).map((request) => request.slice(0, -1))
    const sockets = [...incomplete, ...complete].map((request) => openSocket(service.port, request))
    const animalsSent = () => sent.flatMap(({ values }) => JSON.parse(String(values[0])) as object[]).length
    await waitUntil(() => animalsSent() === complete.length) // the service has read what was sent before, too
    sockets.forEach((socket, n) => (n < 4 ? socket.resetAndDestroy() : socket.destroy()))
    const disconnected = () =>
      service.log.lines.filter(({ msg, status }) => msg === 'client disconnected' && status === 499)
    await waitUntil(() => disconnected().length === sockets.length)
    await unlock()
    await waitUntil(() => pool.idleCount === pool.totalCount)
  })
  const stored = { id: expect.any(Number), ...pet }
  expect(await (await service.send('/v1/pets')).json()).toEqual([stored, stored, stored, stored])
  await service.create()
})
