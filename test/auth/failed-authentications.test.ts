import { describe, expect, vi } from 'vitest'
import { loadConfig } from '../../src/config.ts'
import { mintKey } from '../../src/auth/api-key.ts'
import { KEY_CACHE_MS } from '../../src/auth/api-keys.ts'
import { type TestService, testWithService as test } from '../support/harness.ts'

const rateLimits = { ...loadConfig({}).rateLimits, wrongKeys: 3 }

/** The status of a request with a key, forwarded from an address by a proxy on this machine. */
async function ask({ base }: TestService, key: string, forwardedFor: string, path = '/v1/pets'): Promise<number> {
  const headers = { Authorization: `Bearer ${key}`, 'X-Forwarded-For': forwardedFor }
  return (await fetch(base + path, { headers })).status
}

const askWrong = async (service: TestService, times: number, forwardedFor: string) => {
  const statuses = []
  for (let n = 0; n < times; n++) statuses.push(await ask(service, n % 2 ? 'garbage' : mintKey(), forwardedFor))
  return statuses
}

describe('an address that sends wrong keys', () => {
  test('gets 429 with Retry-After beyond its number, on both faces; others do not', async ({ service }) => {
    const peer = await service.startPeer({ rateLimits, trustedProxies: ['loopback'] })
    expect(await askWrong(peer, 5, '203.0.113.7')).toEqual([401, 401, 401, 429, 429])
    for (const path of ['/v1/pets', '/graphql']) {
      const headers = { Authorization: 'Bearer wrong', 'X-Forwarded-For': '203.0.113.7' }
      const refused = await fetch(peer.base + path, { headers })
      expect([path, refused.status, refused.headers.get('www-authenticate')]).toEqual([path, 429, null])
      expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
      expect(await refused.text()).toMatch(/"code":"RESOURCE_EXHAUSTED".*"status":429/)
    }
    expect(await ask(peer, 'wrong', '203.0.113.8')).toBe(401)
    expect(await ask(peer, peer.key, '203.0.113.8')).toBe(200)
  })

  test('is not asked about in the database any more, unless the key was good before', async ({
    service,
    onTestFinished,
  }) => {
    const now = performance.now.bind(performance)
    let aheadMs = 0
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => now() + aheadMs)
    onTestFinished(() => clock.mockRestore())
    const peer = await service.startPeer({ rateLimits, trustedProxies: ['loopback'] })
    const unseen = await service.keys.issue('unseen')
    expect(await ask(peer, peer.key, '203.0.113.7')).toBe(200)
    await askWrong(peer, 4, '203.0.113.7')
    expect(await ask(peer, unseen, '203.0.113.7')).toBe(429)
    expect(await ask(peer, peer.key, '203.0.113.7')).toBe(200)

    aheadMs += KEY_CACHE_MS + 100 // what was known of it is not believed any longer
    const { miss } = peer.keys.lookups
    expect(await ask(peer, peer.key, '203.0.113.7')).toBe(200)
    expect(peer.keys.lookups.miss).toBe(miss + 1)
    await peer.keys.revoke(peer.key.slice(0, 13))
    aheadMs += KEY_CACHE_MS + 100
    expect(await ask(peer, peer.key, '203.0.113.8')).toBe(401)
    aheadMs += KEY_CACHE_MS + 100
    expect(await ask(peer, peer.key, '203.0.113.7')).toBe(429)
  })

  test('is that of the connection when no trusted proxy stands before', async ({ service }) => {
    for (const trustedProxies of [undefined, ['192.0.2.1']]) {
      const peer = await service.startPeer({ rateLimits, ...(trustedProxies && { trustedProxies }) })
      expect(await askWrong(peer, 3, '203.0.113.7')).toEqual([401, 401, 401])
      expect(await askWrong(peer, 1, '203.0.113.8')).toEqual([429])
    }
  })

  test('is the nearest that no trusted proxy has, whatever a client put before it', async ({ service }) => {
    const peer = await service.startPeer({ rateLimits, trustedProxies: ['loopback', '10.0.0.0/8'] })
    for (let n = 0; n < 3; n++) expect(await ask(peer, 'wrong', `198.51.100.${n}, 203.0.113.7, 10.1.2.3`)).toBe(401)
    expect(await ask(peer, 'wrong', '203.0.113.7')).toBe(429)
    expect(await ask(peer, 'wrong', '198.51.100.1')).toBe(401)
  })

  test('of IPv6 counts with its whole /64 network', async ({ service }) => {
    const peer = await service.startPeer({ rateLimits, trustedProxies: ['loopback'] })
    for (const host of ['1', 'ffff:1:2:3', 'a:b:c:d'])
      expect(await ask(peer, 'wrong', `2001:db8:0:1:${host}`.replace(/1:1$/, '1::1'))).toBe(401)
    expect(await ask(peer, 'wrong', '2001:db8:0:1::99')).toBe(429)
    expect(await ask(peer, 'wrong', '2001:db8::1:0:0:0:1')).toBe(429) // the same network, written otherwise
    expect(await ask(peer, 'wrong', '2001:db8:0:2::1')).toBe(401)
  })

  test('may send as many as it likes when there is no limit', async ({ service }) => {
    const peer = await service.startPeer({ rateLimits: { ...rateLimits, wrongKeys: 0 } })
    expect(new Set(await askWrong(peer, 20, '203.0.113.7'))).toEqual(new Set([401]))
  })
})
