import { expect } from 'vitest'
import { mintKey } from '../../src/auth/api-keys.ts'
import { createVerifyKey, KEY_CACHE_MS } from '../../src/auth/key-lookup.ts'
import { startBehindProxy } from '../support/behind-proxy.ts'
import { bearer, testWithService as test } from '../support/harness.ts'
import { whileLocked } from '../support/locks.ts'
import { stopClock } from '../support/timeouts.ts'

test('while the database is down, an uncached key is 503, not 401, and a cached key is valid until its lookup expires [W4]', async ({
  service,
}) => {
  const clock = stopClock() // of the key cache
  const { peer, proxy } = await startBehindProxy(service)
  const sendWithKey = async (key: string, path = '/v1/pets?limit=0') =>
    (await fetch(peer.base + path, { headers: bearer(key) })).status
  expect(await sendWithKey(service.key)).toBe(400)
  await proxy.down()
  expect(await sendWithKey(service.key)).toBe(400) // the cached key is accepted; the limit is rejected without a query
  const sent = [sendWithKey(mintKey()), sendWithKey(mintKey(), '/graphql'), sendWithKey('Bearer x')]
  expect(await Promise.all(sent)).toEqual([503, 503, 401])
  clock.advance(KEY_CACHE_MS - 1)
  expect(await sendWithKey(service.key)).toBe(400)
  // An expired cache entry is neither accepted nor rejected as invalid.
  clock.advance(101)
  expect(await sendWithKey(service.key)).toBe(503)
  await proxy.up()
  expect([await sendWithKey(service.key), await sendWithKey(mintKey())]).toEqual([400, 401])
})

test('while keys cannot be verified, the verifications leave connections to the readiness probe and the feed', async ({
  service,
}) => {
  const peer = await service.startPeer({ limits: { checkoutTimeoutMs: 10_000 } }) // less than the timeout of locks
  const { backgroundPool, backgroundStatements } = peer.database
  const now = () => new Date()
  const verify = createVerifyKey(backgroundStatements, 100, now, async () => false)
  const caller = { keyId: 1n, clientId: 1n, keyPrefix: 'x', scopes: new Set<string>(), expiresAt: null }
  async function verifyOften(): Promise<void> {
    // There are three connections.
    for (const keyHash of 'abcd') await expect(verify(keyHash, caller)).rejects.toThrow()
    await backgroundPool.query('SELECT 1')
  }
  await whileLocked(service, verifyOften, { table: 'api_key' })
})
