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

const graphql = ({ postGraphQL }: TestService, key: string, query: string) => postGraphQL({ query }, bearer(key))

async function expectDenied(response: Response, scope: string): Promise<void> {
  const challenge = `Bearer realm="petstore", error="insufficient_scope", scope="${scope}"`
  expect([response.status, response.headers.get('www-authenticate')]).toEqual([403, challenge])
  expect(JSON.stringify(await response.json())).toMatch(/"code":"PERMISSION_DENIED".*"status":403/)
}

describe('a key without the scope is 403 insufficient_scope', () => {
  const test = testWithSharedService
  const mutation = 'mutation { createPet(input: {name: "Rex", categoryId: 1}) { id } }'

  test('pets:write in both APIs, and nothing is created; reads are 200', async ({ service }) => {
    const key = await service.keys.issue('reader', { scopes: ['pets:read'] })
    const totalCount = await service.database.prisma.animal.count()
    await expectDenied(await service.post(pet, bearer(key)), 'pets:write')
    await expectDenied(await graphql(service, key, mutation), 'pets:write')
    expect((await graphql(service, key, 'mutation { __typename }')).status).toBe(200)
    const count = await graphql(service, key, '{ pets { totalCount } }')
    expect(await count.json()).toEqual({ data: { pets: { totalCount } } })
    expect((await service.send('/v1/pets', { headers: bearer(key) })).status).toBe(200)
  })

  test('pets:read in both APIs, however GraphQL selects it; writes and introspection succeed', async ({ service }) => {
    const key = await service.keys.issue('writer', { scopes: ['pets:write'] })
    const headers = bearer(key)
    await expectDenied(await service.send('/v1/pets', { headers }), 'pets:read')
    await expectDenied(await service.send('/v1/pets/1', { headers }), 'pets:read')
    for (const query of [
      '{ pets { totalCount } }',
      '{ __typename unknown pet(id: 1) @skip(if: true) { id } }',
      '{ ... on Query { ...A } } fragment A on Query { ...B } fragment B on Query { ...A pets { totalCount } }',
    ]) {
      await expectDenied(await graphql(service, key, query), 'pets:read')
    }
    const introspection = '{ __typename __type(name: "Query") { name } __schema { queryType { name } } }'
    for (const query of [mutation, introspection]) expect((await graphql(service, key, query)).status).toBe(200)
    expect((await graphql(service, key, '{ constructor ...constructor }')).status).toBe(422)
    expect((await service.post(pet, headers)).status).toBe(201)
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
  const alter = `ALTER DATABASE ${databaseOf(service)} SET`
  await service.database.pool.query(`${alter} DateStyle TO 'SQL, DMY'; ${alter} TimeZone TO 'America/Los_Angeles'`)
  const peer = await service.startPeer()
  const inMinutes = (minutes: number) => ({ expiresAt: new Date(Date.now() + minutes * 60_000) })
  const [expired, valid] = [await peer.keys.issue('a', inMinutes(-1)), await peer.keys.issue('b', inMinutes(1))]
  const rotated = await peer.keys.issue('rotated')
  const successor = await peer.keys.rotate(keyPrefix(rotated), 0)
  const statusOf = async (key = '') => (await peer.send('/v1/pets', { headers: bearer(key) })).status
  expect(await Promise.all([expired, valid, rotated, successor].map(statusOf))).toEqual([401, 200, 401, 200])
  const listed = (await peer.keys.list()).find(({ prefix }) => prefix === keyPrefix(valid))
  expect(Number(listed?.expiresAt) - Number(listed?.createdAt)).toBeGreaterThan(50_000)
  expect(Number(listed?.expiresAt) - Date.now()).toBeLessThan(60_000)
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

  test('is written the next time after a failure; one in the future is corrected', async ({ service }) => {
    const { database, keys } = await service.startPeer({ limits: { lockTimeoutMs: 100 } })
    await keys.issue('other')
    const [own, other] = await database.prisma.apiKey.findMany({ where: { id: { gt: 0 } }, orderBy: { id: 'asc' } })
    let date = '2026-01-01'
    const usage = createUsage(database.prisma, () => new Date(date))
    const use = (key: typeof own) => usage.recordUse({ keyId: key?.id })
    const days = async () => (await keys.list()).map(({ lastUsedAt }) => lastUsedAt?.toISOString().slice(0, 10))
    use(own)
    use(other)
    const failToFlush = async () => {
      const failed = expect(usage.flush()).rejects.toThrow()
      date = '2026-01-02'
      use(other)
      await failed
    }
    await whileLocked(service, failToFlush, WRITES_OF_KEYS)
    await usage.flush()
    expect(await days()).toEqual(['2026-01-01', '2026-01-02'])
    await database.pool.query("UPDATE api_key SET last_used_at = '2099-01-01'") // by a clock that was ahead
    use(own)
    await usage.flush()
    expect(await days()).toEqual([expect.not.stringContaining('2099'), '2099-01-01'])
  })
})
