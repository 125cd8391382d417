import { describe, expect, test as base } from 'vitest'
import { bearer, serviceFixture, type TestService } from '../support/harness.ts'
import { stopClock } from '../support/timeouts.ts'
import { addressCases } from './addresses.ts'
import { bodyCases } from './bodies.ts'
import { type Case, expectCase, expectNoInternals } from './case.ts'
import { graphqlCases } from './graphql.ts'
import { keyCases } from './keys.ts'
import { protocolCases } from './protocol.ts'

const tables: { table: string; cases: Case[] }[] = [
  { table: 'credentials', cases: keyCases },
  { table: 'bodies', cases: bodyCases },
  { table: 'paths and methods', cases: addressCases },
  { table: 'malformed HTTP', cases: protocolCases },
  { table: 'GraphQL', cases: graphqlCases },
]

// One service for all cases, so that a case that corrupts its state makes the next case fail.
const test = base.extend<{ service: TestService }>({
  // It soon fails what needs a connection.
  service: [serviceFixture('templateUrl', { limits: { checkoutTimeoutMs: 2_000 } }), { scope: 'file' }],
})

describe('bad requests are rejected without the database, and the service is as before [W1, W8]', () => {
  test.for(tables)('$table', async ({ cases }, { service }) => {
    const failures: string[] = []
    await whilePoolExhausted(service, async (key) => {
      for (const row of cases) {
        await expectCase(row, service.port, key).catch(({ message, diff = '' }: Error & { diff?: string }) =>
          failures.push(`${row.title}: ${message}\n${diff}`),
        )
      }
    })
    expect(failures).toEqual([])
    // The process is alive, nothing was created, and the log has no stack trace.
    expect((await fetch(`${service.base}/livez`)).status).toBe(200)
    expect(await service.graphql('{ pets { totalCount } }')).toEqual({ data: { pets: { totalCount: 0 } } })
    for (const line of service.log.lines) expectNoInternals(JSON.stringify(line))
  })

  test('OPTIONS is 204 with Allow and no body', async ({ service }) => {
    const allowed = { '/v1/pets': true, '/graphql': true, '/v1/pets/1': false, '/livez': false, '/openapi.json': false }
    await whilePoolExhausted(service, async (key) => {
      for (const [path, post] of Object.entries(allowed)) {
        const init = { method: 'OPTIONS', headers: bearer(key) }
        const response = await fetch(service.base + path, init)
        expect([path, response.status, await response.text()]).toEqual([path, 204, ''])
        expect(response.headers.get('allow')).toBe(post ? 'GET, HEAD, POST, OPTIONS' : 'GET, HEAD, OPTIONS')
      }
    })
  })
})

/**
 * Runs `work` while every connection of the pool is checked out, and expects that no request waits for one. The monotonic
 * clock stands still, so that the key remains in the cache.
 */
async function whilePoolExhausted(service: TestService, work: (key: string) => Promise<void>): Promise<void> {
  const { pool } = service.database
  const { max } = pool.options
  stopClock()
  const key = await service.keys.issue('cached')
  expect((await fetch(`${service.base}/v1/pets`, { headers: bearer(key) })).status).toBe(200)
  const connections = await Promise.all(Array.from({ length: max }, () => pool.connect()))
  try {
    await work(key)
    expect(pool).toMatchObject({ totalCount: max, idleCount: 0, waitingCount: 0 })
  } finally {
    connections.forEach((client) => client.release())
  }
}
