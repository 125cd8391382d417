import { setTimeout as sleep } from 'node:timers/promises'
import { pino } from 'pino'
import { expect } from 'vitest'
import { mintKey } from '../../src/auth/api-keys.ts'
import { KEY_CACHE_MS } from '../../src/auth/key-lookup.ts'
import { startBehindProxy } from '../support/behind-proxy.ts'
import { type TestService, testWithService as test } from '../support/harness.ts'
import { usedHeapBytes } from '../support/heap.ts'
import { recordStatements } from '../support/statements.ts'
import { sendMany } from '../support/raw-http.ts'
import { stopClock } from '../support/timeouts.ts'

test('while the database is down, an uncached key is 503, not 401, and a cached key is valid until its lookup expires', async ({
  service,
}) => {
  const clock = stopClock() // of the key cache
  async function advance(ms: number): Promise<void> {
    clock.advance(ms)
    await sleep(2) // lru-cache keeps the time until a timer of 1 ms, which is due before this one
  }
  const { peer, proxy } = await startBehindProxy(service)
  const sendWithKey = async (key: string, path = '/v1/pets?limit=0') =>
    (await fetch(peer.base + path, { headers: { Authorization: `Bearer ${key}` } })).status
  expect(await sendWithKey(service.key)).toBe(400)
  await proxy.down()
  expect(await sendWithKey(service.key)).toBe(400) // the cached key is accepted; the limit is rejected without a query
  expect(
    await Promise.all([sendWithKey(mintKey()), sendWithKey(mintKey(), '/graphql'), sendWithKey('Bearer x')]),
  ).toEqual([503, 503, 401])
  await advance(KEY_CACHE_MS - 1)
  expect(await sendWithKey(service.key)).toBe(400)
  // An expired cache entry is neither accepted nor rejected as invalid.
  await advance(101)
  expect(await sendWithKey(service.key)).toBe(503)
  await proxy.up()
  expect([await sendWithKey(service.key), await sendWithKey(mintKey())]).toEqual([400, 401])
})

test('ten thousand different invalid keys are 401, use no memory afterwards, and cost no query if the checksum is wrong', async ({
  service,
}) => {
  const peer = await service.startPeer({ log: pino({ level: 'silent' }) })
  const queries = recordStatements(peer)
  const lookups = () => queries.filter(({ text }) => text.includes('"api_key"')) // jobs send others each minute
  await flood(peer, 4_000, keyWithWrongChecksum) // warm-up
  const before = usedHeapBytes()
  await flood(peer, 6_000, keyWithWrongChecksum)
  expect(usedHeapBytes() - before).toBeLessThan(400_000) // bytes: less than the length of a key for each request
  expect(lookups()).toEqual([])
  await flood(peer, 1_000, mintKey)
  expect(lookups().flatMap(({ values }) => values[0])).toHaveLength(1_000)
})

const keyWithWrongChecksum = () => mintKey().replace(/.$/, '_')

async function flood({ port }: TestService, count: number, createKey: () => string): Promise<void> {
  const requests = Array.from(
    { length: count },
    () => `GET /v1/pets HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${createKey()}\r\n\r\n`,
  )
  expect(await sendMany(port, requests)).toEqual(requests.map(() => 401))
}
