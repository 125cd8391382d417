import { once } from 'node:events'
import { connect } from 'node:net'
import { expect } from 'vitest'
import { onServer, test } from '../harness.ts'

const body = JSON.stringify({ name: 'Rex', categoryId: 1, status: 'sold' })

test('a client that goes away at any byte of its request, in either way: no crash, a whole animal or none', async ({
  running,
}) => {
  const requests = [
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
  const { rows } = await onServer(
    (client) => client.query<{ name: string }>('SELECT name, category_id::int AS c, status FROM animal'),
    new URL(running.databaseUrl).pathname.slice(1),
  )
  const animals = rows.filter(({ name }) => name !== 'last')
  expect(animals.length).toBeGreaterThan(0) // of those that were sent whole
  expect(animals.length).toBeLessThanOrEqual(whole)
  for (const animal of animals) expect(animal).toEqual({ name: 'Rex', c: 1, status: 'sold' })
  expect((await fetch(`${running.base}/livez`)).status).toBe(200)
})
