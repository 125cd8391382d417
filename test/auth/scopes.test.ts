import { request } from 'node:http'
import { describe, expect } from 'vitest'
import { createUsage } from '../../src/auth/usage.ts'
import { withClient, type TestService, testWithService as test, databaseOf } from '../support/harness.ts'

const pet = { name: 'Rex', categoryId: 1 }

function graphql({ send }: TestService, key: string, query: string, accept = '*/*'): Promise<Response> {
  const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json', Accept: accept }
  return send('/graphql', { method: 'POST', headers, body: JSON.stringify({ query }) })
}

async function expectDenied(response: Response, scope: string): Promise<void> {
  const challenge = `Bearer realm="petstore", error="insufficient_scope", scope="${scope}"`
  expect([response.status, response.headers.get('www-authenticate')]).toEqual([403, challenge])
  expect(JSON.stringify(await response.json())).toMatch(/"code":"PERMISSION_DENIED".*"status":403/)
}

describe('a key without the scope is 403 insufficient_scope', () => {
  const mutation = 'mutation { createPet(input: {name: "Rex", categoryId: 1}) { id } }'
  const mediaTypes = ['application/json', 'application/graphql-response+json', '*/*']

  test('pets:write in both APIs and for every media type; reads are 200', async ({ service }) => {
    const key = await service.keys.issue('reader', { scopes: ['pets:read'] })
    await expectDenied(await service.post(pet, { Authorization: `Bearer ${key}` }), 'pets:write')
    for (const type of mediaTypes) await expectDenied(await graphql(service, key, mutation, type), 'pets:write')
    expect(await (await graphql(service, key, '{ pets { totalCount } }')).json()).toEqual({
      data: { pets: { totalCount: 0 } },
    })
    expect((await service.send('/v1/pets', { headers: { Authorization: `Bearer ${key}` } })).status).toBe(200)
  })

  test('pets:read in both APIs and for every media type; writes succeed', async ({ service }) => {
    const key = await service.keys.issue('writer', { scopes: ['pets:write'] })
    const headers = { Authorization: `Bearer ${key}` }
    await expectDenied(await service.send('/v1/pets', { headers }), 'pets:read')
    const getPet = await service.send('/v1/pets/1', { headers })
    expect(getPet.headers.get('deprecation')).toBe('@1764892800')
    await expectDenied(getPet, 'pets:read')
    const queries = ['{ pets { totalCount } }', '{ __schema { types { name } } }']
    for (const query of queries) {
      for (const type of mediaTypes) await expectDenied(await graphql(service, key, query, type), 'pets:read')
    }
    expect((await service.post(pet, headers)).status).toBe(201)
    expect(await (await graphql(service, key, mutation)).json()).toEqual({ data: { createPet: { id: '2' } } })
  })

  test('metrics:read, which a new key does not have by default', async ({ service }) => {
    const key = await service.keys.issue('client')
    const scraper = await service.keys.issue('scraper', { scopes: ['metrics:read'] })
    await expectDenied(await service.send('/metrics', { headers: { Authorization: `Bearer ${key}` } }), 'metrics:read')
    const headers = { Authorization: `Bearer ${scraper}` }
    expect((await service.send('/metrics', { headers })).status).toBe(200)
    await expectDenied(await service.send('/v1/pets', { headers }), 'pets:read')
    await expectDenied(await service.post(pet, headers), 'pets:write')
  })

  test('before 100 Continue is sent and before the body is read or parsed', async ({ service }) => {
    const key = await service.keys.issue('reader', { scopes: ['pets:read'] })
    for (const body of ['', '{', 'x'.repeat(100_000)]) {
      await expectDenied(await service.post(body, { Authorization: `Bearer ${key}` }), 'pets:write')
    }
    const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json', Expect: '100-continue' }
    const status = await new Promise((resolve) => {
      const client = request(`${service.base}/v1/pets`, { method: 'POST', headers })
      client.on('continue', () => resolve('100 Continue')).on('response', (response) => resolve(response.statusCode))
      client.on('error', resolve).flushHeaders()
    })
    expect(status).toBe(403)
  })
})

test('an expired key is 401 invalid_token in both APIs, also if it is cached', async ({ service }) => {
  let now = Date.now()
  const peer = await service.startPeer({ now: () => new Date(now) })
  const key = await service.keys.issue('short', { expiresAt: new Date(now + 60_000) })
  const sendToBoth = async () => {
    const rest = await peer.send('/v1/pets', { headers: { Authorization: `Bearer ${key}` } })
    const responses = [rest, await graphql(peer, key, '{ pets { totalCount } }')]
    return responses.map(({ status, headers }) => [status, headers.get('www-authenticate')])
  }
  now += 59_999
  expect(await sendToBoth()).toEqual([
    [200, null],
    [200, null],
  ])
  now += 1
  const unauthorized = [401, 'Bearer realm="petstore", error="invalid_token"']
  expect(await sendToBoth()).toEqual([unauthorized, unauthorized])
})

describe('the usage of a key', () => {
  test('is written in the background without delaying requests, and at shutdown', async ({ service }) => {
    const peer = await service.startPeer()
    const since = Date.now()
    const read = () =>
      withClient(async (client) => {
        const { rows } = await client.query(
          'SELECT last_used_at, deprecated_calls, deprecated_last_call_at FROM api_key',
        )
        return rows as { last_used_at: Date | null; deprecated_calls: string; deprecated_last_call_at: Date | null }[] // the selected columns
      }, databaseOf(service))

    await withClient(async (client) => {
      await client.query('BEGIN; LOCK TABLE api_key IN SHARE MODE') // allows reads, blocks writes
      for (let n = 0; n < 5; n++) expect((await peer.send('/v1/pets')).status).toBe(200)
      for (let n = 0; n < 3; n++) expect((await peer.send('/v1/pets/7')).status).toBe(404)
      await client.query('ROLLBACK')
    }, databaseOf(service))
    expect(await read()).toEqual([{ last_used_at: null, deprecated_calls: '0', deprecated_last_call_at: null }])

    await peer.stop(0, 0)
    const [use] = await read()
    expect(use).toMatchObject({ deprecated_calls: '3' })
    expect(use?.last_used_at?.getTime()).toBeGreaterThanOrEqual(since)
    expect(use?.deprecated_last_call_at?.getTime()).toBeGreaterThanOrEqual(since)
  })

  test('is written in one statement for all keys; after a failure it is written the next time, without counting twice', async ({
    service,
  }) => {
    const { keys } = service
    const ids = await withClient(async (client) => {
      for (let n = 0; n < 20; n++) await keys.issue(`key ${n}`)
      const { rows } = await client.query('SELECT id FROM api_key')
      return rows.map(({ id }: { id: string }) => BigInt(id))
    }, databaseOf(service))
    const { database } = await service.startPeer({ DATABASE_LOCK_TIMEOUT_MS: 100 })
    const usage = createUsage(database.prisma)
    const recordCalls = () => ids.forEach((id) => usage.recordDeprecatedCall(id, new Date('2026-01-01T00:00:00Z')))
    recordCalls()
    const lock = 'BEGIN; LOCK TABLE api_key IN SHARE MODE'
    await withClient(async (client) => {
      await client.query(lock)
      await expect(usage.flush()).rejects.toThrow()
      await client.query('ROLLBACK')
    }, databaseOf(service))
    recordCalls()
    await usage.flush()
    await usage.flush()
    const usages = (await keys.list()).map(({ lastUsedAt, deprecatedCalls }) => [
      lastUsedAt?.toISOString(),
      deprecatedCalls,
    ])
    expect(usages).toEqual(ids.map(() => ['2026-01-01T00:00:00.000Z', 2n]))
  })
})
