import { once } from 'node:events'
import { describe, expect } from 'vitest'
import { mintKey } from '../../src/auth/api-keys.ts'
import { bearer, testWithSharedService as test } from '../support/harness.ts'
import { usedHeapBytes } from '../support/heap.ts'
import { openSocket, sendRaw, statusesIn } from '../support/raw-http.ts'
import { stopClock } from '../support/timeouts.ts'

test('a request without a valid key is 401 in both APIs, before all else is validated [W4]', async ({ service }) => {
  const requests: { path: string; init?: RequestInit }[] = [
    { path: '/v1/nothing' },
    { path: '/v1/pets/%ZZ' },
    { path: '/v1/pets', init: { method: 'DELETE' } },
    { path: '/v1/pets', init: { method: 'POST', body: 'x'.repeat(100_000) } },
    { path: '/graphql', init: { method: 'PUT' } },
    { path: '/graphql', init: { method: 'POST', body: 'garbage' } },
    { path: '/graphql/x' },
  ]
  for (const { path, init } of requests) expect((await fetch(service.base + path, init)).status).toBe(401)
})

test('each request is authenticated by its own key, whatever its connection sent before', async ({ service }) => {
  const writer = await service.keys.issue('writer', { scopes: ['pets:write'] })
  const keys = [service.key, writer, mintKey(), service.key, writer, 'x']
  const requests = keys.map((key) => `GET /v1/pets HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n`)
  const text = await sendRaw(service.port, `${requests.join('\r\n')}Connection: close\r\n\r\n`)
  expect(statusesIn(text)).toEqual([200, 403, 401, 200, 403, 401])
})

test('an idle connection keeps no more of an Authorization header in memory than the key', async ({ service }) => {
  const connections = 200
  const measure = async (spaces: number) => {
    const before = usedHeapBytes()
    for (let n = 0; n < connections; n++) {
      const header = `Authorization: Bearer${' '.repeat(spaces)}${mintKey()}`
      await once(openSocket(service.port, `GET /v1/pets HTTP/1.1\r\nHost: x\r\n${header}\r\n\r\n`), 'data')
    }
    return (usedHeapBytes() - before) / connections
  }
  await measure(1) // compiles the code
  const usual = await measure(1)
  expect((await measure(15_000)) - usual).toBeLessThan(7_500)
})

describe('a valid key', () => {
  test.for(['Bearer', 'bearer', 'BEARER', 'Bearer  '])('is accepted after "%s"', async (scheme, { service }) => {
    const headers = { Authorization: `${scheme} ${service.key}` }
    expect((await fetch(`${service.base}/v1/pets`, { headers })).status).toBe(200)
  })

  test('is stored only as its SHA-256, and is in no table of the database', async ({ service }) => {
    const peer = await service.startPeer()
    await peer.post({ name: 'x', categoryId: 1 }, { 'Idempotency-Key': 'once' })
    await peer.send('/v1/pets', { headers: bearer(mintKey()) })
    await peer.stop(0, 0) // writes the usage of keys
    const { pool } = service.database
    const { rows: tables } = await pool.query<{ name: string }>('SELECT relname AS name FROM pg_stat_user_tables')
    let dump = ''
    for (const { name } of tables) dump += JSON.stringify((await pool.query(`SELECT t::text FROM "${name}" t`)).rows)
    expect(dump).toContain(service.key.slice(0, 13))
    expect(dump).not.toContain(service.key.slice(0, 14))
  })

  test('is rejected by every instance within five seconds of its revocation', async ({ service }) => {
    const clock = stopClock() // of the caches of both
    const key = await service.keys.issue('revoked')
    const headers = bearer(key)
    const instances = [service, await service.startPeer()]
    for (const { send } of instances) expect((await send('/v1/pets', { headers })).status).toBe(200)
    expect(await service.keys.revoke(key.slice(0, 13))).toBe(true)
    clock.advance(5_000)
    const challenge = 'Bearer realm="petstore", error="invalid_token"'
    for (const { send, postGraphQL } of instances) {
      for (const response of [
        await send('/v1/pets', { headers }),
        await postGraphQL({ query: '{ __typename }' }, headers),
      ])
        expect([response.status, response.headers.get('www-authenticate')]).toEqual([401, challenge])
    }
  })
})
