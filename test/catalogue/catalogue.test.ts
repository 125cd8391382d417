import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { pino } from 'pino'
import {
  cloneDatabase,
  dropDatabase,
  withClient,
  type TestService,
  startService,
  databaseOf,
} from '../support/harness.ts'
import { VALID_NAMES } from '../support/cases/new-pet.ts'
import { parseResponse, sendRaw } from '../support/raw-http.ts'
import { addressCases } from './addresses.ts'
import { bodyCases } from './bodies.ts'
import { type Case, expectCase, postGraphQL, postPet } from './case.ts'
import { graphqlCases, invalidArguments } from './graphql.ts'
import { expectInvariants, type LogRecorder, recordLog } from './invariants.ts'
import { keyCases } from './keys.ts'
import { protocolCases } from './protocol.ts'
import { unknownMembers } from './unknown-members.ts'

// One service for all cases, so that a case that corrupts its state makes the next case fail.
const stops: (() => Promise<void>)[] = []
let service: TestService
let log: LogRecorder
let animals = 0
const poolSize = 2

beforeAll(async () => {
  log = recordLog()
  const databaseUrl = await cloneDatabase()
  stops.push(() => dropDatabase(databaseUrl))
  service = await startService(databaseUrl, stops, {
    log: pino({ level: 'info' }, log.stream),
    DATABASE_POOL_SIZE: poolSize,
  })
})
afterAll(async () => {
  for (const stop of stops.reverse()) await stop()
})

const tables: { table: string; cases: Case[] }[] = [
  { table: 'credentials', cases: keyCases },
  { table: 'bodies', cases: bodyCases },
  { table: 'paths and methods', cases: addressCases },
  { table: 'malformed HTTP', cases: protocolCases },
  { table: 'GraphQL', cases: graphqlCases },
]

describe('invalid requests are rejected, and the invariants hold afterwards', () => {
  for (const { table, cases } of tables) {
    describe(table, () => {
      test.for(cases)('$title is $status', async (invalidCase) => {
        const since = log.count
        const response = await expectCase(invalidCase, service.port, service.key)
        animals = await expectInvariants(service, animals, response)
        log.expectNoInternals(service.key, since)
      })
    })
  }
})

describe('unusual valid input is accepted', () => {
  const bodies = [
    ...VALID_NAMES.map(({ title, name }) => ({
      title: `a name with ${title} is stored byte for byte`,
      name,
      body: JSON.stringify({ name, categoryId: 1 }),
    })),
    ...unknownMembers.map(({ title, members }) => ({
      title: `unknown members are ignored: ${title}`,
      name: 'x',
      body: `{"name":"x","categoryId":1,${members}}`,
    })),
  ]
  test.for(bodies)('$title', async ({ name, body }) => {
    const since = log.count
    const { bytes } = postPet('', body, { status: 201, code: '' })
    const response = parseResponse(await sendRaw(service.port, bytes(service.key)))
    expect(response).toMatchObject({ status: 201 })
    expect(response.body).toEqual({ id: expect.any(Number), name, categoryId: 1 })
    animals = await expectInvariants(service, animals, response)
    log.expectNoInternals(service.key, since)
    expect(({} as { polluted?: number }).polluted).toBeUndefined()
    const stored = await withClient(
      (client) => client.query('SELECT convert_to(name, $$UTF8$$) AS bytes FROM animal ORDER BY id DESC LIMIT 1'),
      databaseOf(service),
    )
    expect(stored.rows[0].bytes).toEqual(Buffer.from(name))
  })
})

describe('invalid requests have the same response while the connection pool is exhausted', () => {
  test.for(tables)('$table', async ({ cases }) => {
    for (let from = 0; from < cases.length; from += 15) {
      await whilePoolExhausted(async (key) => {
        for (const invalidCase of cases.slice(from, from + 15)) await expectCase(invalidCase, service.port, key)
      })
    }
  })

  test('OPTIONS is 204 and /livez is 200', async () => {
    await whilePoolExhausted(async (key) => {
      const headers = { Authorization: `Bearer ${key}` }
      for (const path of ['/v1/pets', '/v1/pets/1', '/graphql', '/livez', '/openapi.json']) {
        expect((await fetch(service.base + path, { method: 'OPTIONS', headers })).status, path).toBe(204)
      }
      expect((await fetch(`${service.base}/livez`)).status).toBe(200)
    })
  })

  test('invalid arguments in GraphQL', async () => {
    await whilePoolExhausted(async (key) => {
      for (const { query, variables, code } of invalidArguments) {
        const { bytes } = postGraphQL('', { query, variables }, { status: 200, code })
        const { status, body } = parseResponse(await sendRaw(service.port, bytes(key)))
        const [error] = (body as { errors: { extensions: object }[] }).errors // GraphQL's shape
        expect({ query, variables, status, error: error?.extensions }).toMatchObject({
          query,
          variables,
          status: 200,
          error: { code },
        })
      }
    })
  })
})

/** Runs `work` while every connection of the pool is checked out, and expects that no request waits for one. */
async function whilePoolExhausted(work: (key: string) => Promise<void>): Promise<void> {
  const { pool } = service.database
  // The service caches a key for five seconds, which is enough for fifteen cases.
  const key = await service.keys.issue('cached')
  expect((await fetch(`${service.base}/v1/pets`, { headers: { Authorization: `Bearer ${key}` } })).status).toBe(200)
  const connections = await Promise.all(Array.from({ length: poolSize }, () => pool.connect()))
  try {
    await work(key)
    expect(pool).toMatchObject({ totalCount: poolSize, idleCount: 0, waitingCount: 0 })
  } finally {
    connections.forEach((client) => client.release())
  }
}
