import { describe, expect, vi } from 'vitest'
import { mintKey } from '../../src/auth/api-key.ts'
import {
  withClient,
  type TestService,
  testWithSharedService,
  testWithService as test,
  databaseOf,
} from '../support/harness.ts'
import { recordStatements } from '../support/statements.ts'

/** Sends a request with this Authorization to each API, and expects that both are 401. */
async function expectUnauthorized(service: TestService, authorization: string): Promise<Response[]> {
  const headers = { 'Content-Type': 'application/json', Authorization: authorization }
  const responses = [
    await fetch(`${service.base}/v1/pets`, { headers }),
    await fetch(`${service.base}/graphql`, { method: 'POST', headers, body: '{"query":"{__typename}"}' }),
  ]
  for (const response of responses) expect(response.status).toBe(401)
  return responses
}

function expectInvalidToken({ headers }: Response): void {
  expect(headers.get('www-authenticate')).toBe('Bearer realm="petstore", error="invalid_token"')
}

async function status(service: TestService, key: string): Promise<number> {
  return (await fetch(`${service.base}/v1/pets`, { headers: { Authorization: `Bearer ${key}` } })).status
}

describe('a request without a valid key is 401 in both APIs', () => {
  const invalidKeys: { title: string; change(key: string): string }[] = [
    { title: 'an unknown key', change: () => mintKey() },
    { title: 'a key in upper case', change: (key) => key.toUpperCase() },
    { title: 'a key with one changed character', change: (key) => key.replace(/.$/, (c) => (c === '0' ? '1' : '0')) },
  ]
  testWithSharedService.for(invalidKeys)('$title', async ({ change }, { service }) => {
    for (const response of await expectUnauthorized(service, `Bearer ${change(service.key)}`))
      expectInvalidToken(response)
  })

  testWithSharedService('before its path, method and body are validated', async ({ service }) => {
    const requests: { path: string; init?: RequestInit }[] = [
      { path: '/v1/nothing' },
      { path: '/v1/pets/%ZZ' },
      { path: '/v1/pets', init: { method: 'DELETE' } },
      { path: '/v1/pets', init: { method: 'POST', body: 'x'.repeat(100_000) } },
      { path: '/graphql', init: { method: 'PUT' } },
      { path: '/graphql/x' },
    ]
    for (const { path, init } of requests) expect((await fetch(service.base + path, init)).status).toBe(401)
  })

  testWithSharedService(
    'GraphQL without a key has the same response for any body, since none is parsed',
    async ({ service }) => {
      const bodies = [
        '{"query":"{__schema{types{name}}}"}',
        '{"query":"{"}',
        'garbage',
        '{"query":"{pets{totalCount}}"}',
      ]
      const responses = bodies.map(async (body) => {
        const headers = { 'Content-Type': 'application/json' }
        return (await fetch(`${service.base}/graphql`, { method: 'POST', headers, body })).text()
      })
      expect(new Set(await Promise.all(responses)).size).toBe(1)
    },
  )
})

describe('a valid key', () => {
  testWithSharedService.for(['Bearer', 'bearer', 'BEARER', 'Bearer  '])(
    'is accepted after "%s"',
    async (scheme, { service }) => {
      const headers = { Authorization: `${scheme} ${service.key}` }
      expect((await fetch(`${service.base}/v1/pets`, { headers })).status).toBe(200)
    },
  )

  test('is stored only as its SHA-256, and is in no table of the database', async ({ service }) => {
    const peer = await service.startPeer({ RATE_LIMIT_STORE: 'database' })
    await peer.post({ name: 'x', categoryId: 1 }, { 'Idempotency-Key': 'once' })
    await status(peer, mintKey())
    await peer.stop(0, 0) // writes the usage of keys
    const rows = await withClient(async (client) => {
      const tables = await client.query<{ name: string }>(
        `SELECT relname AS name FROM pg_stat_user_tables ORDER BY relname`,
      )
      const names = tables.rows.map(({ name }) => name)
      expect(names).toEqual(['_prisma_migrations', 'animal', 'api_key', 'idempotency_key', 'rate_limit'])
      let dump = ''
      for (const name of names) {
        const { rows } = await client.query(`SELECT t::text FROM "${name}" t`)
        expect(rows, name).not.toEqual([])
        dump += JSON.stringify(rows)
      }
      return dump
    }, databaseOf(service))
    expect(rows).toContain(service.key.slice(0, 13))
    expect(rows).not.toContain(service.key.slice(0, 14))
  })

  test('costs one query in five seconds', async ({ service, onTestFinished }) => {
    const clock = vi.spyOn(performance, 'now').mockReturnValue(performance.now()) // the clock of the key cache
    onTestFinished(() => clock.mockRestore())
    const sent = recordStatements(service)
    for (let n = 0; n < 10; n++) expect(await status(service, service.key)).toBe(200)
    expect(sent.filter(({ text }) => text.includes('api_key'))).toHaveLength(1)
  })

  test('is rejected by every instance within five seconds of its revocation', async ({ service }) => {
    const other = await service.startPeer()
    expect([await status(service, service.key), await status(other, service.key)]).toEqual([200, 200])
    expect(await service.keys.revoke(service.key.slice(0, 13))).toBe(true)
    const deadline = Date.now() + 5_500
    while (Date.now() < deadline && (await status(other, service.key)) === 200) {
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
    for (const instance of [service, other]) {
      for (const response of await expectUnauthorized(instance, `Bearer ${service.key}`)) expectInvalidToken(response)
    }
  })
})
