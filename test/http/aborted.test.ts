import { once } from 'node:events'
import { connect } from 'node:net'
import { expect, vi } from 'vitest'
import { loadConfig } from '../../src/config.ts'
import { onServer, type Running, test } from '../support/harness.ts'

const body = JSON.stringify({ name: 'Rex', categoryId: 1, status: 'sold' })

/** A whole animal, through each face. */
const requestsOf = (running: Running) =>
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
      `Authorization: Bearer ${running.key}`,
      'Content-Type: application/json',
      `Content-Length: ${content.length}\r\n\r\n${content}`,
    ].join('\r\n'),
  )

test('a client that goes away at any byte of its request, in either way: no crash, a whole animal or none', async ({
  running,
}) => {
  const requests = requestsOf(running)
  let whole = 0
  for (const request of requests) {
    for (let length = 0; length <= request.length; length += length < request.length - 5 ? 11 : 1) {
      for (const way of ['end', 'reset'] as const) {
        const socket = connect(running.port, '127.0.0.1').on('error', () => {})
        await new Promise<void>((sent) => socket.write(request.slice(0, length), () => sent()))
        const closed = once(socket, 'close')
        if (way === 'end') socket.destroy()
        else socket.resetAndDestroy()
        await closed
        if (length === request.length) whole++
      }
    }
  }
  expect((await running.post({ name: 'last', categoryId: 1 })).status).toBe(201)
  const animals = await animalsOf(running)
  expect(animals.length).toBeGreaterThan(0) // of those that were sent whole
  expect(animals.length).toBeLessThanOrEqual(whole)
  for (const animal of animals) expect(animal).toEqual(rex)
  expect((await fetch(`${running.base}/livez`)).status).toBe(200)
})

test('a client that goes away while its animal is being written: no crash, and the animal is whole', async ({
  running,
}) => {
  const patience = { lockMs: 20_000, statementMs: 20_000, queryMs: 20_000 }
  const patient = await running.another({ timeouts: { ...loadConfig({}).timeouts, ...patience } })
  await patient.send('/v1/pets') // the key is known from now on
  const { pool } = patient.service.database
  await onServer(async (client) => {
    await client.query('BEGIN; LOCK TABLE animal IN ACCESS EXCLUSIVE MODE')
    const sockets = [...requestsOf(patient), ...requestsOf(patient)].map((request) => {
      const socket = connect(patient.port, '127.0.0.1').on('error', () => {})
      socket.write(request)
      return socket
    })
    await vi.waitUntil(() => pool.totalCount - pool.idleCount === sockets.length)
    sockets.forEach((socket, n) => (n < 2 ? socket.destroy() : socket.resetAndDestroy()))
    const gone = () => patient.log.lines.filter(({ msg }) => msg === 'client disconnected')
    await vi.waitUntil(() => gone().length === sockets.length)
    await client.query('ROLLBACK')
    await vi.waitUntil(() => pool.idleCount === pool.totalCount)
  }, new URL(running.databaseUrl).pathname.slice(1))
  expect(await animalsOf(running)).toEqual([rex, rex, rex, rex])
  expect((await running.post({ name: 'last', categoryId: 1 })).status).toBe(201)
})

const rex = { name: 'Rex', c: 1, status: 'sold' }

/** Those that were sent by clients that went away, as they are stored. */
async function animalsOf(running: Running): Promise<{ name: string }[]> {
  const { rows } = await onServer(
    (client) => client.query<{ name: string }>('SELECT name, category_id::int AS c, status FROM animal'),
    new URL(running.databaseUrl).pathname.slice(1),
  )
  return rows.filter(({ name }) => name !== 'last')
}
