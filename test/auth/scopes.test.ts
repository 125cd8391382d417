import { describe, expect } from 'vitest'
import { keyPrefix } from '../../src/auth/api-keys.ts'
import { createUsage } from '../../src/auth/usage.ts'
import {
  bearer,
  databaseOf,
  type TestService,
  testWithService as test,
  testWithSharedService,
} from '../support/harness.ts'
import { whileLocked } from '../support/locks.ts'
import { rawPost, sendRaw } from '../support/raw-http.ts'

const pet = { name: 'Rex', categoryId: 1 }

const graphql = ({ postGraphQL }: TestService, key: string, query: string, Accept = '*/*') =>
  postGraphQL({ query }, { ...bearer(key), Accept })

async function expectDenied(response: Response, scope: string): Promise<void> {
  const challenge = `Bearer realm="petstore", error="insufficient_scope", scope="${scope}"`
  expect([response.status, response.headers.get('www-authenticate')]).toEqual([403, challenge])
  expect(JSON.stringify(await response.json())).toMatch(/"code":"PERMISSION_DENIED".*"status":403/)
}

describe('a key without the scope is 403 insufficient_scope', () => {
  const test = testWithSharedService
  const mutation = 'mutation { createPet(input: {name: "Rex", categoryId: 1}) { id } }'
  const mediaTypes = ['application/json', 'application/graphql-response+json', '*/*']

  test('pets:write in both APIs and for every media type; reads are 200', async ({ service }) => {
    const key = await service.keys.issue('reader', { scopes: ['pets:read'] })
    const totalCount = await service.database.prisma.animal.count()
    await expectDenied(await service.post(pet, bearer(key)), 'pets:write')
    for (const type of mediaTypes) await expectDenied(await graphql(service, key, mutation, type), 'pets:write')
    const typename = await graphql(service, key, 'mutation { __typename }')
    expect(await typename.text()).toBe('{"data":{"__typename":"Mutation"}}')
    const byGet = `/graphql?query=${encodeURIComponent(mutation)}`
    expect((await service.send(byGet, { headers: bearer(key) })).status).toBe(405)
    const count = await graphql(service, key, '{ pets { totalCount } }')
    expect(await count.json()).toEqual({ data: { pets: { totalCount } } })
    expect((await service.send('/v1/pets', { headers: bearer(key) })).status).toBe(200)
  })

  test('pets:read in both APIs and for every media type; writes succeed', async ({ service }) => {
    const key = await service.keys.issue('writer', { scopes: ['pets:write'] })
    const headers = bearer(key)
    await expectDenied(await service.send('/v1/pets', { headers }), 'pets:read')
    await expectDenied(await service.send('/v1/pets/1', { headers }), 'pets:read')
    const queries = [
      '{ pets { totalCount } }',
      '{ __typename unknown pet(id: 1) @skip(if: true) { id } }',
      '{ ... on Query { ...A } } fragment A on Query { ...B } fragment B on Query { ...A pets { totalCount } }',
    ]
    for (const query of queries) {
      for (const type of mediaTypes) await expectDenied(await graphql(service, key, query, type), 'pets:read')
    }
    for (const [query, expected] of [
      ['{ __typename }', '{"data":{"__typename":"Query"}}'],
      ['{ __type(name: "Query") { name } }', '{"data":{"__type":{"name":"Query"}}}'],
      ['{ __schema { queryType { name } } }', '{"data":{"__schema":{"queryType":{"name":"Query"}}}}'],
    ] as const)
      expect(await (await graphql(service, key, query)).text()).toBe(expected)
    const unknown = await (await graphql(service, key, '{ constructor ...constructor }')).text()
    expect(unknown).toContain('GRAPHQL_VALIDATION_FAILED')
    const subscription = 'subscription { petCreated { cursor } }'
    await expectDenied(await graphql(service, key, subscription, 'text/event-stream'), 'pets:read')
    expect((await service.post(pet, headers)).status).toBe(201)
    expect(await (await graphql(service, key, mutation)).json()).toEqual({
      data: { createPet: { id: expect.any(String) } },
    })
  })

  test('metrics:read, which a new key does not have by default', async ({ service }) => {
    const key = await service.keys.issue('client')
    const scraper = await service.keys.issue('scraper', { scopes: ['metrics:read'] })
    await expectDenied(await service.send('/metrics', { headers: bearer(key) }), 'metrics:read')
    const headers = bearer(scraper)
    expect((await service.send('/metrics', { headers })).status).toBe(200)
    await expectDenied(await service.send('/v1/pets', { headers }), 'pets:read')
    await expectDenied(await service.post(pet, headers), 'pets:write')
  })

  test('before 100 Continue is sent and before the body is read or parsed [W6]', async ({ service }) => {
    const key = await service.keys.issue('reader', { scopes: ['pets:read'] })
    for (const body of ['', '{', 'x'.repeat(100_000)]) {
      await expectDenied(await service.post(body, bearer(key)), 'pets:write')
    }
    const request = rawPost({ key, lines: ['Content-Length: 9', 'Expect: 100-continue'] })
    const response = await sendRaw(service.port, request, { until: /"status":403/ })
    expect(response).toMatch(/^HTTP\/1\.1 403 /)
  })
})

testWithSharedService('an expired key is 401 invalid_token in both APIs, also if it is cached', async ({ service }) => {
  let now = Date.now()
  const peer = await service.startPeer({ now: () => new Date(now) })
  const key = await service.keys.issue('short', { expiresAt: new Date(now + 60_000) })
  const sendToBoth = async () => {
    const rest = await peer.send('/v1/pets', { headers: bearer(key) })
    const responses = [rest, await graphql(peer, key, '{ pets { totalCount } }')]
    return responses.map(({ status, headers }) => [status, headers.get('www-authenticate')])
  }
  now += 59_999
  const authorized = [200, null]
  expect(await sendToBoth()).toEqual([authorized, authorized])
  now += 1
  const unauthorized = [401, 'Bearer realm="petstore", error="invalid_token"']
  expect(await sendToBoth()).toEqual([unauthorized, unauthorized])
})

test('a key expires at its time, whatever format and time zone the database has for dates', async ({ service }) => {
  const zones = { ISO: 'Asia/Tokyo', German: 'UTC', 'SQL, DMY': 'America/Los_Angeles' }
  for (const [style, zone] of Object.entries(zones)) {
    const alter = `ALTER DATABASE ${databaseOf(service)} SET`
    await service.database.pool.query(`${alter} DateStyle TO ${style}; ${alter} TimeZone TO '${zone}'`)
    const peer = await service.startPeer()
    const inMinutes = (minutes: number) => ({ expiresAt: new Date(Date.now() + minutes * 60_000) })
    const expired = await peer.keys.issue('expired', inMinutes(-1))
    const valid = await peer.keys.issue('valid', inMinutes(1))
    const rotated = await peer.keys.issue('rotated')
    const successor = await peer.keys.rotate(keyPrefix(rotated), 0)
    const statusOf = async (key = '') => (await peer.send('/v1/pets', { headers: bearer(key) })).status
    const statuses = await Promise.all([expired, valid, rotated, successor].map(statusOf))
    expect(statuses, style).toEqual([401, 200, 401, 200])
    const listed = (await peer.keys.list()).find(({ prefix }) => prefix === keyPrefix(valid))
    expect(Number(listed?.expiresAt) - Number(listed?.createdAt)).toBeGreaterThan(50_000)
    expect(Number(listed?.expiresAt) - Date.now()).toBeLessThan(60_000)
  }
})

describe('the usage of a key', () => {
  const WRITES_OF_KEYS = { table: 'api_key', mode: 'SHARE' } // which allows reads

  test('is written in the background without delaying requests, and at shutdown', async ({ service }) => {
    const at = new Date('2026-01-01T00:00:00Z')
    const peer = await service.startPeer({ now: () => at })
    const usage = async () => (await service.keys.list()).map(({ lastUsedAt }) => lastUsedAt)
    const readAll = async () => {
      for (let n = 0; n < 5; n++) expect((await peer.send('/v1/pets')).status).toBe(200)
    }
    await whileLocked(service, readAll, WRITES_OF_KEYS)
    expect(await usage()).toEqual([null])
    await peer.stop(0, 0)
    expect(await usage()).toEqual([at])
  })

  test('is written in one statement for all keys; after a failure it is written the next time', async ({ service }) => {
    const { keys } = service
    for (let n = 0; n < 20; n++) await keys.issue(`key ${n}`)
    const ids = (await service.database.prisma.apiKey.findMany({ where: { id: { gt: 0 } } })).map(({ id }) => id)
    const { database } = await service.startPeer({ limits: { lockTimeoutMs: 100 } })
    let date = '2026-01-01'
    const usage = createUsage(database.prisma, () => new Date(date))
    const recordUses = () => ids.slice(1).forEach((keyId) => usage.recordUse({ keyId }))
    usage.recordUse({ keyId: ids[0] })
    recordUses()
    date = '2026-01-02'
    const failToFlush = async () => {
      const failed = expect(usage.flush()).rejects.toThrow()
      recordUses()
      await failed
    }
    await whileLocked(service, failToFlush, WRITES_OF_KEYS)
    await usage.flush()
    const days = (await keys.list()).map(({ lastUsedAt }) => lastUsedAt?.toISOString().slice(0, 10))
    expect(days).toEqual(ids.map((_id, n) => (n ? '2026-01-02' : '2026-01-01')))
    await service.database.pool.query("UPDATE api_key SET last_used_at = '2099-01-01'") // by a clock that was ahead
    date = '2026-01-03'
    recordUses()
    await usage.flush()
    const years = (await keys.list()).slice(1).map(({ lastUsedAt }) => lastUsedAt?.getFullYear())
    expect(years).not.toContain(2099)
  })
})
