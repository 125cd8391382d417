import { describe, expect, onTestFinished, vi } from 'vitest'
import { startTcpProxy, type TcpProxy } from '../chaos/tcp-proxy.ts'
import { openStream } from '../support/event-stream.ts'
import { type TestService, withClient } from '../support/harness.ts'
import { waitUntil } from '../support/timeouts.ts'
import { createStreamFetch } from './examples/live.ts'
import { add, liveClients, openList, streamsOf, test } from './live-list.ts'

async function proxyTo({ base }: TestService): Promise<TcpProxy & { base: string }> {
  const proxy = await startTcpProxy(base)
  onTestFinished(() => proxy.down())
  return Object.assign(proxy, { base: new URL(proxy.url).origin })
}

describe.for(Object.entries(liveClients))('%s', ([, client]) => {
  test('shows every animal once, newest first, while connections are cut and instances stop', async ({ service }) => {
    const [first, second] = [await service.startPeer(), await service.startPeer()]
    const proxy = await proxyTo(first)
    const shutdown = async () => {
      proxy.retarget(second.base)
      await first.stop(0, 200) // streams end without `complete`
    }
    const list = openList(client, proxy.base, service.key)
    const names: string[] = []
    const faults = { rst: () => proxy.cut('rst'), fin: () => proxy.cut('fin'), shutdown }
    for (const [name, fault] of Object.entries(faults)) {
      const added = Array.from({ length: 15 }, (_, n) => `${name} ${n}`)
      const adding = add(service, ...added)
      await waitUntil(() => list.names.length > names.length)
      await fault()
      await adding
      await add(service, `after ${name}`)
      names.push(...added, `after ${name}`)
    }
    await waitUntil(() => list.names.length >= names.length)
    expect(list).toMatchObject({ names: names.reverse(), errors: [] })
    expect(await streamsOf(second, 'petstore_stream_events_total')).toBeLessThanOrEqual(16) // only what was missing
  })

  test('shows an animal between others if its transaction was open when the page was read', async ({ service }) => {
    await add(service, 'first')
    await service.graphql('{ pets { liveCursor } }') // the next one does not wait long for the transaction
    await withClient(async (connection) => {
      await connection.query("BEGIN; INSERT INTO animal (name, category_id) VALUES ('held', 1)")
      await add(service, 'later')
      const list = openList(client, service.base, service.key)
      await waitUntil(() => list.names.length)
      expect(list.names).toEqual(['later', 'first'])
      await connection.query('COMMIT')
      await add(service, 'last')
      await waitUntil(() => list.names.includes('last'))
      expect(list).toMatchObject({ names: ['last', 'later', 'held', 'first'], errors: [] })
    }, service.databaseUrl)
  })

  test('sends no request after it was stopped', async ({ service }) => {
    const list = openList(client, service.base, service.key)
    await waitUntil(async () => (await streamsOf(service)) === 1)
    const requests = watchRequests()
    list.stop()
    await new Promise((resolve) => setTimeout(resolve, 1_500)) // in which it would subscribe again
    expect(requests).not.toHaveBeenCalled()
    await waitUntil(async () => (await streamsOf(service)) === 0)
  })

  test('stops with UNAUTHENTICATED when the key is revoked', async ({ service }) => {
    const key = await service.keys.issue('other')
    const list = openList(client, service.base, key)
    await add(service, 'one')
    await waitUntil(() => list.names.length)
    const requests = watchRequests()
    await service.keys.revoke(key.slice(0, 13))
    await waitUntil(() => list.errors.length)
    await new Promise((resolve) => setTimeout(resolve, 1_500)) // another error would have led to a request
    expect(list).toMatchObject({ names: ['one'], errors: [{ code: 'UNAUTHENTICATED' }] })
    expect(requests).not.toHaveBeenCalled()
  })

  test('stops with UNAUTHENTICATED when the key is invalid on a reconnect', async ({ service }) => {
    const key = await service.keys.issue('other')
    const proxy = await proxyTo(service)
    const list = openList(client, proxy.base, key)
    await waitUntil(async () => (await streamsOf(service)) === 1)
    await proxy.down()
    await service.keys.revoke(key.slice(0, 13))
    await waitUntil(
      async () => (await service.send('/v1/pets', { headers: { Authorization: `Bearer ${key}` } })).status === 401,
    )
    const requests = watchRequests()
    await proxy.up()
    await waitUntil(() => list.errors.length)
    await new Promise((resolve) => setTimeout(resolve, 2_500)) // another error would have led to a request
    expect(list.errors).toMatchObject([{ code: 'UNAUTHENTICATED' }])
    expect((await settled(requests)).filter((status) => status === 401)).toHaveLength(1)
  })

  test.for([
    [429, { limits: { streamsPerClient: 1 } }],
    [503, { STREAM_LIMIT: 1 }],
  ] as const)('begins after a response %i', async ([status, limits], { service }) => {
    const peer = await service.startPeer(limits)
    const other = await openStream(peer, { query: 'subscription { petCreated { cursor } }' })
    const requests = watchRequests()
    const list = openList(client, peer.base, service.key)
    await waitUntil(async () => (await settled(requests)).includes(status))
    await add(service, 'one')
    other.close()
    await waitUntil(() => list.names.length)
    expect(list).toMatchObject({ names: ['one'], errors: [] })
  })
})

function watchRequests() {
  const requests = vi.spyOn(globalThis, 'fetch')
  onTestFinished(() => void requests.mockRestore())
  return requests
}

/** The statuses of requests, 0 for those without a response. */
function settled(requests: { mock: { results: { value: unknown }[] } }): Promise<number[]> {
  const responses = requests.mock.results.map(({ value }) => value as Promise<Response>) // of fetch
  return Promise.all(responses.map((response) => response.then(({ status }) => status).catch(() => 0)))
}

describe('createStreamFetch', () => {
  const subscribe = (base: string, key: string, maxSilenceMs?: number) =>
    createStreamFetch(maxSilenceMs)(`${base}/graphql`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${key}`, Accept: 'text/event-stream', 'Content-Type': 'application/json' },
      body: JSON.stringify({ query: 'subscription { petCreated { cursor } }' }),
    })

  test('fails when the connection is silent, and closes it', async ({ service }) => {
    const proxy = await proxyTo(service)
    const { body } = await subscribe(proxy.base, service.key, 500)
    proxy.hold('responses')
    const reading = (async () => {
      await new Response(body).text()
    })()
    await expect(reading).rejects.toThrow('The stream is silent.')
    await waitUntil(async () => (await streamsOf(service)) === 0)
  })

  test('returns a rejected response when Retry-After has passed', async ({ service }) => {
    const peer = await service.startPeer({ STREAM_LIMIT: 1 })
    await subscribe(peer.base, service.key)
    const startedAt = performance.now()
    const { status } = await subscribe(peer.base, service.key)
    expect(status).toBe(503)
    expect(performance.now() - startedAt).toBeGreaterThan(999)
  })
})
