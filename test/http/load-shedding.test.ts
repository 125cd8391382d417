import { text } from 'node:stream/consumers'
import { expect } from 'vitest'
import { docsScript } from '../support/assets.ts'
import { type TestService, testWithSharedService as test } from '../support/harness.ts'
import { countBlocked, whileLocked } from '../support/locks.ts'
import { connectTo } from '../support/raw-http.ts'
import { stopClock, waitFor, waitUntil } from '../support/timeouts.ts'

async function expectShed(response: Response): Promise<void> {
  expect([response.status, response.headers.get('retry-after')]).toEqual([503, '1'])
  expect(JSON.stringify(await response.json())).toContain('"UNAVAILABLE"')
}

type Clock = ReturnType<typeof stopClock>

/** Runs `work` while a lock blocks every connection of the pool and one request more than the limit waits. */
async function whileQueueFull(service: TestService, queueLength: number, work: (clock: Clock) => Promise<void>) {
  const { pool, waitingCount } = service.database
  const clock = stopClock()
  await service.send('/v1/pets') // caches the key
  await whileLocked(service, async (unlock, client) => {
    const sent: Promise<Response>[] = []
    const sendNext = () => sent.push(service.send(`/v1/pets?limit=${sent.length + 1}`))
    for (let busy = 1; busy <= pool.options.max; busy++) {
      sendNext()
      await waitUntil(async () => (await countBlocked(client, '%AS page%')) >= busy)
    }
    for (let waiting = 1; waiting <= queueLength + 1; waiting++) {
      sendNext()
      await waitUntil(() => waitingCount() >= waiting) // more while a key is looked up again
    }
    await work(clock)
    expect(waitingCount()).toBeGreaterThan(queueLength) // no request obtained a connection
    await unlock()
    expect((await Promise.all(sent)).map(({ status }) => status)).toEqual(sent.map(() => 200))
  })
}

test('a client that asks for /readyz again and again has the database read at most every 100 ms', async ({
  service,
}) => {
  const began = performance.now()
  for (let n = 0; n < 5; n++) expect((await service.send('/readyz')).status).toBe(200)
  expect(performance.now() - began).toBeGreaterThan(390) // the clock of timers is rounded
})

const neverShed = ['/livez', '/readyz', '/metrics']
const pages = ['/graphql', '/docs', docsScript, '/openapi.json']
const html = { Accept: 'text/html' }

test('with more requests waiting for the database than the limit, a new one is 503 in both APIs, also for a page of another origin; its preflight, and what needs no database, are served [W3]', async ({
  service,
}) => {
  const bounded = await service.startPeer({ limits: { shedQueueLength: 2 }, CORS_ORIGINS: '*' })
  const headers = { Origin: 'https://shop.example', 'Access-Control-Request-Method': 'POST' }
  await whileQueueFull(bounded, 2, async () => {
    const shed = await bounded.send('/v1/pets', { headers })
    expect(shed.headers.get('access-control-allow-origin')).toBe('*')
    await expectShed(shed)
    await expectShed(await bounded.post('{'))
    await expectShed(await bounded.send('/graphql', { method: 'POST', body: '{' }))
    await expectShed(await fetch(`${bounded.base}/v1/pets/1`))
    expect((await bounded.send('/v1/pets', { method: 'OPTIONS', headers })).status).toBe(204)
    const served = [...neverShed, ...pages].map(async (path) =>
      expect((await bounded.send(path, { headers: html })).status, path).toBe(200),
    )
    await Promise.all(served) // at once, before the wait for the lock ends
    expect(await bounded.metric('petstore_shed_total{reason="queue"}')).toBe(4)
  })
  expect((await bounded.send('/v1/pets')).status).toBe(200)
})

test('a new request is 503 while the oldest waiter exceeds the maximum wait, then 200 [W3]', async ({ service }) => {
  const bounded = await service.startPeer({ limits: { shedQueueMs: 500 } })
  await whileQueueFull(bounded, 0, async (clock) => {
    await waitUntil(() => bounded.database.pool.waitingCount > 0)
    clock.advance(501)
    await expectShed(await bounded.send('/v1/pets'))
  })
  expect((await bounded.send('/v1/pets')).status).toBe(200)
})

test('under event-loop lag both APIs and the pages are 503, health and metrics are 200', async ({ service }) => {
  const delayMs = 200
  const { port, base, key, metric } = await service.startPeer({ limits: { shedLagMs: delayMs } })
  const paths = ['/v1/pets', '/graphql?query={__typename}', ...pages, ...neverShed]
  const clients = await Promise.all(paths.map(() => connectTo(port)))
  for (const [n, path] of paths.entries()) {
    const accept = pages.includes(path) ? 'text/html' : '*/*'
    const headers = `Host: localhost\r\nAuthorization: Bearer ${key}\r\nAccept: ${accept}\r\nConnection: close`
    clients[n]?.write(`GET ${path} HTTP/1.1\r\n${headers}\r\n\r\n`)
  }
  const until = performance.now() + 2 * delayMs
  while (performance.now() < until); // blocks the event loop, which the service shares
  const responses = await Promise.all(clients.map(text))
  for (const [n, path] of paths.entries()) {
    const shed = /^HTTP\/1\.1 503 [^]*\r\nRetry-After: 1\r\n[^]*"code":"UNAVAILABLE"/
    expect(responses[n], path).toMatch(neverShed.includes(path) ? /^HTTP\/1\.1 200 / : shed)
  }
  for (const path of ['/v1/pets', ...pages])
    await waitFor(async () => expect((await fetch(base + path, { headers: html })).status).not.toBe(503))
  expect(await metric('petstore_shed_total{reason="queue"}')).toBe(0)
})
