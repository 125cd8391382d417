import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, vi } from 'vitest'
import { loadConfig } from '../../src/config.ts'
import { onServer, type Running, test } from '../support/harness.ts'

const longTimeouts = { lockMs: 20_000, statementMs: 20_000, queryMs: 20_000, checkoutMs: 20_000 }
const timeouts = { ...loadConfig({}).timeouts, ...longTimeouts }

async function expectShed(response: Response): Promise<void> {
  expect([response.status, response.headers.get('retry-after')]).toEqual([503, '1'])
  expect(JSON.stringify(await response.json())).toContain('"UNAVAILABLE"')
}

/** Works while every connection is held by a lock and more requests wait for one than may. */
async function whileFull(running: Running, queueLength: number, work: () => Promise<void>): Promise<void> {
  const { pool } = running.service.database
  await onServer(async (client) => {
    await running.send('/v1/pets') // caches the lookup of the key
    await client.query('BEGIN; LOCK TABLE animal IN ACCESS EXCLUSIVE MODE')
    const held = Array.from({ length: 4 + queueLength + 1 }, (_, n) => running.send(`/v1/pets?limit=${n + 1}`))
    await vi.waitUntil(() => pool.waitingCount > queueLength)
    await work()
    expect(pool.waitingCount).toBe(queueLength + 1) // no request obtained a connection
    await client.query('ROLLBACK')
    expect((await Promise.all(held)).map(({ status }) => status)).toEqual(held.map(() => 200))
  }, new URL(running.databaseUrl).pathname.slice(1))
}

const neverShed = ['/livez', '/readyz', '/metrics']
const pages = ['/graphql', '/docs', '/docs/start.js', '/openapi.json']
const html = { Accept: 'text/html' }

describe('with more requests waiting for the database than the limit', () => {
  const queueLength = 2
  const shedding = { queueLength, queueMs: 0, delayMs: 0 }

  test('a new request is 503 in both APIs, with and without a key', async ({ running }) => {
    const bounded = await running.another({ shedding, timeouts })
    await whileFull(bounded, queueLength, async () => {
      await expectShed(await bounded.send('/v1/pets'))
      await expectShed(await bounded.post('{'))
      await expectShed(await bounded.send('/graphql', { method: 'POST', body: '{' }))
      await expectShed(await fetch(`${bounded.base}/v1/pets`))
      await expectShed(await fetch(`${bounded.base}/v1/pets/1`))
    })
    expect((await bounded.send('/v1/pets')).status).toBe(200)
  })

  test('health, metrics and the pages that need no key are served', async ({ running }) => {
    const bounded = await running.another({ shedding, timeouts })
    await whileFull(bounded, queueLength, async () => {
      for (const path of [...neverShed, ...pages])
        expect((await bounded.send(path, { headers: html })).status, path).toBe(200)
      await expectShed(await bounded.send('/v1/pets'))
      expect(await (await bounded.send('/metrics')).text()).toMatch(/^petstore_shed_total\{reason="queue"\} 1$/m)
    })
  })

  test('with a limit of 0 every request waits', async ({ running }) => {
    const unbounded = await running.another({ shedding: { queueLength: 0, queueMs: 0, delayMs: 0 }, timeouts })
    await whileFull(unbounded, 20, async () => expect((await fetch(`${unbounded.base}/v1/pets`)).status).toBe(401))
  })
})

test('while the oldest waiter exceeds the limit of the expected wait a new request is 503; afterwards it is served', async ({
  running,
}) => {
  const bounded = await running.another({ shedding: { queueLength: 0, queueMs: 500, delayMs: 0 }, timeouts })
  await whileFull(bounded, 0, async () => {
    await vi.waitUntil(() => bounded.service.database.pool.expectedWaitMs() > 500)
    await expectShed(await bounded.send('/v1/pets'))
  })
  expect(bounded.service.database.pool.expectedWaitMs()).toBe(0)
  expect((await bounded.send('/v1/pets')).status).toBe(200)
})

test('under event-loop lag, requests to the APIs and the pages are 503, health and metrics are served', async ({
  running,
}) => {
  const delayMs = 200
  const { port, base, key } = await running.another({ shedding: { queueLength: 0, queueMs: 0, delayMs } })
  const paths = ['/v1/pets', '/graphql?query={__typename}', ...pages, ...neverShed]
  const clients = await Promise.all(paths.map(() => connectTo(port)))
  for (const [n, path] of paths.entries()) {
    const accept = pages.includes(path) ? 'text/html' : '*/*'
    const headers = `Host: localhost\r\nAuthorization: Bearer ${key}\r\nAccept: ${accept}\r\nConnection: close`
    clients[n]?.write(`GET ${path} HTTP/1.1\r\n${headers}\r\n\r\n`)
  }
  const until = performance.now() + 2 * delayMs
  while (performance.now() < until); // blocks the service, which is in this process
  const responses = await Promise.all(clients.map(text))
  for (const [n, path] of paths.entries()) {
    const shed = /^HTTP\/1\.1 503 [^]*\r\nRetry-After: 1\r\n[^]*"code":"UNAVAILABLE"/
    expect(responses[n], path).toMatch(neverShed.includes(path) ? /^HTTP\/1\.1 200 / : shed)
  }
  for (const path of ['/v1/pets', ...pages])
    await vi.waitFor(async () => expect((await fetch(base + path, { headers: html })).status).not.toBe(503), 15_000)
  const metrics = await (await fetch(`${base}/metrics`, { headers: { Authorization: `Bearer ${key}` } })).text()
  expect(metrics).toMatch(/^petstore_shed_total\{reason="queue"\} 0$/m)
})

/** Connects, and waits until the service has accepted the connection: it has answered a request. */
async function connectTo(port: number): Promise<Socket> {
  const client = connect(port, '127.0.0.1')
  client.write('HEAD /livez HTTP/1.1\r\nHost: localhost\r\n\r\n')
  await once(client, 'readable')
  client.read()
  return client
}

test('with more requests than the database can serve, every admitted request is served', async ({ running }) => {
  const bounded = await running.another({ shedding: { queueLength: 0, queueMs: 500, delayMs: 0 } })
  await onServer(async (client) => {
    await client.query(
      'CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(0.05); RETURN NEW; END $$',
    )
    await client.query('CREATE TRIGGER slow BEFORE INSERT ON animal FOR EACH ROW EXECUTE FUNCTION slow()')
  }, new URL(running.databaseUrl).pathname.slice(1))
  const pet = { name: 'Rex', categoryId: 1 }
  for (let n = 0; n < 10; n++) await Promise.all(Array.from({ length: 8 }, () => bounded.post(pet)))

  const answers: Promise<Response>[] = []
  for (const until = performance.now() + 2_000; performance.now() < until; await sleep(4))
    answers.push(bounded.post(pet))
  const statuses = (await Promise.all(answers)).map(({ status }) => status)
  const shed = /^petstore_shed_total\{reason="queue"\} (\d+)$/m.exec(await (await bounded.send('/metrics')).text())
  expect(statuses.filter((status) => status === 503)).toHaveLength(Number(shed?.[1]))
  expect(new Set(statuses)).toEqual(new Set([201, 503]))
})
