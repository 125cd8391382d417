import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { pino } from 'pino'
import { cloneDatabase, dropDatabase, withClient, type TestService, startService } from '../support/harness.ts'
import { parseResponse, sendRaw } from '../support/raw-http.ts'
import { strangeMembers, strangeNames } from './accepted.ts'
import { addressCases } from './addresses.ts'
import { bodyCases } from './bodies.ts'
import { ask, type Case, expectCase, post } from './case.ts'
import { graphqlCases, wrongArguments } from './graphql.ts'
import { expectSound, type Witness, witness } from './invariants.ts'
import { keyCases } from './keys.ts'
import { protocolCases } from './protocol.ts'

// One service for all: whatever a case leaves behind would show in the next.
const stops: (() => Promise<void>)[] = []
let service: TestService
let lines: Witness
let animals = 0
const poolSize = 2

beforeAll(async () => {
  lines = witness()
  const databaseUrl = await cloneDatabase()
  stops.push(() => dropDatabase(databaseUrl))
  service = await startService(databaseUrl, stops, {
    log: pino({ level: 'info' }, lines.stream),
    databasePoolSize: poolSize,
  })
})
afterAll(async () => {
  for (const stop of stops.reverse()) await stop()
})

const tables: [string, Case[]][] = [
  ['keys', keyCases],
  ['bodies', bodyCases],
  ['addresses and methods', addressCases],
  ['HTTP itself', protocolCases],
  ['GraphQL', graphqlCases],
]

describe('what bad input gets, and all is well after it', () => {
  for (const [table, cases] of tables) {
    describe(table, () => {
      test.for(cases.map((one) => [one.title, one.status, one] as const))('%s is %d', async ([, , one]) => {
        const since = lines.count
        const answer = await expectCase(one, service.port, service.key)
        animals = await expectSound(service, animals, answer)
        lines.expectDiscreet(service.key, since)
      })
    })
  }
})

describe('what is strange and good is stored as it was sent', () => {
  const bodies: [string, string, string][] = [
    ...strangeNames.map(([title, name]): [string, string, string] => [
      `the name: ${title}`,
      name,
      `{"name":${JSON.stringify(name)},"categoryId":1}`,
    ]),
    ...strangeMembers.map(([title, members]): [string, string, string] => [
      `unknown members: ${title}`,
      'x',
      `{"name":"x","categoryId":1,${members}}`,
    ]),
  ]
  test.for(bodies)('%s', async ([, name, body]) => {
    const since = lines.count
    const { bytes } = post('', body, { status: 201, code: '' })
    const answer = parseResponse(await sendRaw(service.port, bytes(service.key)))
    expect(answer).toMatchObject({ status: 201 })
    expect(answer.body).toEqual({ id: expect.any(Number), name, categoryId: 1 })
    animals = await expectSound(service, animals, answer)
    lines.expectDiscreet(service.key, since)
    expect(({} as { polluted?: number }).polluted).toBeUndefined()
    const stored = await withClient(
      (client) => client.query('SELECT convert_to(name, $$UTF8$$) AS bytes FROM animal ORDER BY id DESC LIMIT 1'),
      new URL(service.databaseUrl).pathname.slice(1),
    )
    expect(stored.rows[0].bytes).toEqual(Buffer.from(name))
  })
})

describe('without the database: the same answers while every connection of the pool is held', () => {
  test.for(tables)('%s', async ([, cases]) => {
    for (let from = 0; from < cases.length; from += 15) {
      await whileHeld(async (key) => {
        for (const one of cases.slice(from, from + 15)) await expectCase(one, service.port, key)
      })
    }
  })

  test('OPTIONS and what says that the process lives', async () => {
    await whileHeld(async (key) => {
      const headers = { Authorization: `Bearer ${key}` }
      for (const path of ['/v1/pets', '/v1/pets/1', '/graphql', '/livez', '/openapi.json']) {
        expect((await fetch(service.base + path, { method: 'OPTIONS', headers })).status, path).toBe(204)
      }
      expect((await fetch(`${service.base}/livez`)).status).toBe(200)
    })
  })

  test('arguments of GraphQL that are wrong', async () => {
    await whileHeld(async (key) => {
      for (const [operation, code] of wrongArguments) {
        const { bytes } = ask('', { query: operation }, { status: 200, code })
        const { status, body } = parseResponse(await sendRaw(service.port, bytes(key)))
        const [error] = (body as { errors: { extensions: object }[] }).errors // GraphQL's shape
        expect([operation, status, error?.extensions]).toMatchObject([operation, 200, { code }])
      }
    })
  })
})

/** Does something while every connection of the pool is held, and nobody asks for one. */
async function whileHeld(work: (key: string) => Promise<void>): Promise<void> {
  const { pool } = service.database
  // The service believes what it knows of a key for five seconds; a fresh one lasts through fifteen cases.
  const key = await service.keys.issue('held')
  expect((await fetch(`${service.base}/v1/pets`, { headers: { Authorization: `Bearer ${key}` } })).status).toBe(200)
  const held = await Promise.all(Array.from({ length: poolSize }, () => pool.connect()))
  try {
    await work(key)
    expect(pool).toMatchObject({ totalCount: poolSize, idleCount: 0, waitingCount: 0 })
  } finally {
    held.forEach((client) => client.release())
  }
}
