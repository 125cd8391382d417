import { describe, expect } from 'vitest'
import { mintKey } from '../../src/auth/api-keys.ts'
import { KEY_CACHE_MS } from '../../src/auth/key-lookup.ts'
import { bearer, type TestService, testWithSharedService as test } from '../support/harness.ts'
import { stopClock } from '../support/timeouts.ts'

const limit = { limits: { failedAuthentications: 3 } }

async function authenticate({ send }: TestService, key: string, forwardedFor: string): Promise<number> {
  return (await send('/v1/pets', { headers: { ...bearer(key), 'X-Forwarded-For': forwardedFor } })).status
}

/** Sends keys of which every second one has a character that its checksum is not of. */
const sendInvalid = async (service: TestService, times: number, forwardedFor: string) => {
  const mistyped = () => mintKey().replace(/(?<=_)./, (first) => (first === '0' ? '1' : '0'))
  const statuses = []
  for (let n = 0; n < times; n++)
    statuses.push(await authenticate(service, n % 2 ? mistyped() : mintKey(), forwardedFor))
  return statuses
}

const countKeyQueries = ({ metric }: TestService) => metric('petstore_key_lookups_total{result="miss"}')

describe('failed authentications of an IP address', () => {
  test('beyond the limit are 429 with Retry-After in both APIs; others are not affected [W4]', async ({ service }) => {
    const peer = await service.startPeer({ ...limit, TRUSTED_PROXIES: ['loopback'] })
    expect(await sendInvalid(peer, 5, '203.0.113.7')).toEqual([401, 401, 401, 429, 429])
    for (const path of ['/v1/pets', '/graphql']) {
      const headers = { Authorization: 'Bearer wrong', 'X-Forwarded-For': '203.0.113.7' }
      const rejected = await fetch(peer.base + path, { headers })
      expect([path, rejected.status, rejected.headers.get('www-authenticate')]).toEqual([path, 429, null])
      expect(Number(rejected.headers.get('retry-after'))).toBeGreaterThan(0)
      expect(await rejected.text()).toMatch(/"code":"RESOURCE_EXHAUSTED".*"status":429/)
    }
    expect(await peer.metric('petstore_rate_limited_total{budget="wrong-keys"}')).toBe(4)
    expect(await authenticate(peer, 'wrong', '203.0.113.8')).toBe(401)
    expect(await authenticate(peer, peer.key, '203.0.113.8')).toBe(200)
  })

  test('beyond the limit or with a wrong checksum cost no query, unless the key was valid', async ({ service }) => {
    const clock = stopClock()
    const key = await service.keys.issue('own', { scopes: ['pets:read', 'metrics:read'] })
    const peer = await service.startPeer({ ...limit, key, TRUSTED_PROXIES: ['loopback'] })
    const newKey = await service.keys.issue('new')
    expect(await authenticate(peer, peer.key, '203.0.113.7')).toBe(200)
    const before = await countKeyQueries(peer)
    await sendInvalid(peer, 4, '203.0.113.7')
    expect(await authenticate(peer, newKey, '203.0.113.7')).toBe(429)
    expect(await authenticate(peer, peer.key, '203.0.113.7')).toBe(200)

    const queries = await countKeyQueries(peer)
    expect(queries).toBe(before + 2) // of the four, two had a wrong checksum
    clock.advance(KEY_CACHE_MS + 100)
    expect(await authenticate(peer, peer.key, '203.0.113.7')).toBe(200)
    expect(await countKeyQueries(peer)).toBe(queries + 1)
    await peer.keys.revoke(peer.key.slice(0, 13))
    clock.advance(KEY_CACHE_MS + 100)
    expect(await authenticate(peer, peer.key, '203.0.113.8')).toBe(401)
    clock.advance(KEY_CACHE_MS + 100)
    expect(await authenticate(peer, peer.key, '203.0.113.7')).toBe(429)
  })

  test('count by the address of the connection if it is not a trusted proxy', async ({ service }) => {
    for (const TRUSTED_PROXIES of [undefined, ['192.0.2.1']]) {
      const peer = await service.startPeer({ ...limit, TRUSTED_PROXIES })
      expect(await sendInvalid(peer, 3, '203.0.113.7')).toEqual([401, 401, 401])
      expect(await sendInvalid(peer, 1, '203.0.113.8')).toEqual([429])
    }
  })

  test.for([
    ['the address of IPv4, whatever port a proxy appends', '203.0.113.7', '203.0.113.7:40001', '203.0.113.7:40002'],
    ['the address of IPv6, whatever port a proxy appends', '2001:db8::7', '[2001:db8::7]:4001', '[2001:db8::7]:4002'],
    ['the /64 network of IPv6', '2001:db8:0:1::1', '2001:db8:0:1:ffff:1:2:3', '2001:db8::1:a:b:c:d'],
    ['the last untrusted address', ...['1', '2', '3'].map((n) => `198.51.100.${n}, 203.0.113.7, 10.1.2.3`)],
  ])('count by %s', async ([, ...addresses], { service }) => {
    const peer = await service.startPeer({ ...limit, TRUSTED_PROXIES: ['loopback', '10.0.0.0/8'] })
    for (const address of addresses) expect(await authenticate(peer, 'wrong', address)).toBe(401)
    for (const address of addresses) expect(await authenticate(peer, 'wrong', address)).toBe(429)
    for (const other of ['198.51.100.1', '2001:db8:0:2::1']) expect(await authenticate(peer, 'wrong', other)).toBe(401)
  })
})
