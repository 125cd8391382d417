import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'vitest'
import { toCursor } from '../../src/pets/animal.ts'
import { openStream } from '../support/event-stream.ts'
import { type TestService, testWithService as test, withClient } from '../support/harness.ts'
import { interceptStatements, type Statement } from '../support/statements.ts'
import { waitUntil } from '../support/timeouts.ts'

const NEW = 'subscription New($after: String) { petCreated(after: $after) { cursor node { id name } } }'

const sql = ({ database }: TestService, text: string) => database.pool.query(text)

async function create(service: TestService, count = 1): Promise<void> {
  for (let n = 0; n < count; n++) await service.create()
}

/** @returns the text of a subscription that ends at once */
async function rejected(service: TestService, variables: object, headers = {}): Promise<string> {
  const stream = await openStream(service, { query: NEW, variables, headers })
  await waitUntil(() => stream.ended)
  return stream.text
}

test('a cursor above every assigned id is rejected where animals would be missed [F12]', async ({ service }) => {
  await create(service, 3)
  const [newest, tooNew] = [toCursor(3n), toCursor(4n)]
  const advice = 'as after a restore from a backup: begin with a new page'
  const field = (name: string) => ({ path: [name], message: `is newer than every animal, ${advice}` })
  const [after, before] = [field('after'), field('before')].map((one) => ({ code: 'INVALID_ARGUMENT', fields: [one] }))

  const event = /data: (.*)/.exec(await rejected(service, { after: tooNew }))?.[1] ?? ''
  expect(JSON.parse(event)).toMatchObject({ errors: [{ extensions: after }] })
  const resumed = JSON.parse(await rejected(service, {}, { 'Last-Event-ID': tooNew }))
  expect(resumed).toMatchObject({ errors: [{ extensions: { fields: [field('Last-Event-ID')] } }] })
  for (const size of ['first: 2', 'last: 2']) {
    const page = (cursor: string) => service.graphql(`{ pets(${size}, before: "${cursor}") { nodes { id } } }`)
    expect(await page(tooNew)).toMatchObject({ data: null, errors: [{ extensions: before }] })
    expect(await page(newest)).toEqual({ data: { pets: { nodes: [] } } })
  }
  const older = await service.graphql(`{ pets(first: 2, after: "${tooNew}") { nodes { id } } }`)
  expect(older).toEqual({ data: { pets: { nodes: [{ id: '3' }, { id: '2' }] } } })
  expect(await (await service.send(`/v1/pets?limit=1&cursor=${tooNew}`)).json()).toMatchObject([{ id: 3 }])
})

const TOM = "INSERT INTO animal (name, category_id) VALUES ('Tom', 1)"
const TOM_1000 = "INSERT INTO animal (id, name, category_id) VALUES (1000, 'Tom', 1)"

const CHANGES = {
  'was rolled back': `BEGIN; ${TOM}; ROLLBACK`,
  'was deleted': `${TOM}; DELETE FROM animal`,
  'was assigned before the sequence was moved': `${TOM}; ALTER SEQUENCE animal_id_seq RESTART WITH 1000`,
  'was assigned before the next one was set': `${TOM}; SELECT setval('animal_id_seq', 1000, false)`,
}

test.for(Object.entries(CHANGES))('the cursor of an id that %s is accepted', async ([, change], { service }) => {
  await create(service)
  await sql(service, change)
  const stream = await openStream(service, { query: NEW, variables: { after: toCursor(2n) } })
  await sql(service, "SELECT setval('animal_id_seq', 999); INSERT INTO animal (name, category_id) VALUES ('Kit', 1)")
  await stream.received(1)
  expect(stream.text).toContain('"id":"1000"')
})

const ABOVE = {
  'imported into a table whose sequence was never used': [TOM_1000, 0n],
  'given before the sequence was set back': [`SELECT setval('animal_id_seq', 999); ${TOM}`, 1000n],
} as const

test.for(Object.entries(ABOVE))(
  'a stream after an id that was %s is rejected, since lower ones were given',
  async ([, [add, settledId]], { service }) => {
    await sql(service, add)
    const { data } = await service.graphql('{ pets { liveCursor } }')
    expect(data).toEqual({ pets: { liveCursor: toCursor(settledId) } })
    await sql(service, "SELECT setval('animal_id_seq', 1, false)")
    await create(service, 3)
    expect(await rejected(service, { after: toCursor(1000n) })).toContain('begin with a new page')
    // It is the cursor of an animal on a page, so a page before it is empty.
    const page = await service.graphql(`{ pets(last: 1, before: "${toCursor(1000n)}") { nodes { id } } }`)
    expect(page).toEqual({ data: { pets: { nodes: [] } } })
  },
)

test('a stream that is open while the database goes back to an older state ends, and its cursor is rejected [F13, F14]', async ({
  service,
}) => {
  const { stream, restore } = await streamUntilReadFails(service)
  let hasReadLocks = false
  const onStatement = ({ text }: Statement, send: () => Promise<unknown>) => {
    hasReadLocks ||= text.includes('pg_locks')
    return send()
  }
  interceptStatements(service, onStatement, [service.database.backgroundPool])
  const next = await withClient(async (client) => {
    // An open transaction, because of which a known settled id would be used.
    const insert = "INSERT INTO animal (name, category_id) VALUES ('held', 1)"
    await client.query(`BEGIN; ${restore}; COMMIT AND CHAIN; ${insert}`)
    await waitUntil(() => hasReadLocks) // so the feed has noticed the older state
    const opened = openStream(service, { query: NEW })
    await sleep(500) // a stream that does not wait would have begun, or begin too late to fail the test
    await client.query('COMMIT')
    return opened
  }, service.databaseUrl)
  await waitUntil(() => stream.ended)
  const last = JSON.parse(stream.events().at(-2)?.data ?? '') // before `complete`
  const fields = [{ path: ['after'], message: expect.stringContaining('begin with a new page') }]
  expect(last).toMatchObject({ errors: [{ extensions: { code: 'INVALID_ARGUMENT', fields } }] })
  expect(await rejected(service, { after: stream.events()[4]?.id })).toContain('begin with a new page')
  await create(service)
  await next.received(2)
  expect(next.events().map(({ data }) => JSON.parse(data).data.petCreated.node)).toEqual([
    { id: '1', name: 'held' },
    { id: '2', name: 'Rex' },
  ])
})

async function streamOfFive(service: TestService) {
  const stream = await openStream(service, { query: NEW })
  await create(service, 5)
  await stream.received(5)
  return stream
}

/** A stream with five animals, whose feed cannot read. @returns it, and SQL that restores an empty table */
async function streamUntilReadFails(service: TestService) {
  const stream = await streamOfFive(service)
  await sql(service, 'ALTER TABLE animal RENAME TO unavailable')
  await service.log.line({ msg: 'failed to read new items', resource: 'animals' })
  return { stream, restore: 'TRUNCATE unavailable RESTART IDENTITY CASCADE; ALTER TABLE unavailable RENAME TO animal' }
}

test('an older state with more animals ends a stream; a page has its liveCursor even before', async ({ service }) => {
  const { stream, restore } = await streamUntilReadFails(service)
  await sql(service, `BEGIN; ${restore}; ${GIVEN_AGAIN}; COMMIT`)
  const page = await service.graphql('{ pets(first: 1) { liveCursor nodes { name } } }')
  expect(page.data?.['pets']).toEqual({ liveCursor: toCursor(9n), nodes: [{ name: '9' }] })
  await waitUntil(() => stream.ended)
  expect(stream.text).toContain('begin with a new page')
  expect(stream.text).not.toContain('"id":"9"')
})

const GIVEN_AGAIN = 'INSERT INTO animal (name, category_id) SELECT n, 1 FROM generate_series(1, 9) AS n'

const ENDING = {
  'set back': "SELECT setval('animal_id_seq', 2)",
  'restarted, and has given as many ids again': `TRUNCATE animal RESTART IDENTITY CASCADE; ${GIVEN_AGAIN}`,
  'set back below a truncated table, and has given as many ids again': `
    TRUNCATE animal CASCADE; SELECT setval('animal_id_seq', 1, false); ${GIVEN_AGAIN}`,
  'set back below another table, and has given as many ids again': `
    ALTER TABLE animal RENAME TO former; SELECT setval('animal_id_seq', 1, false);
    CREATE TABLE animal (LIKE former INCLUDING ALL); ${GIVEN_AGAIN}`,
}

test.for(Object.entries(ENDING))('a sequence that was %s ends a stream', async ([, change], { service }) => {
  const stream = await streamOfFive(service)
  await sql(service, `BEGIN; ${change}; COMMIT`)
  await waitUntil(() => stream.ended)
  expect(stream.text).toContain('begin with a new page')
})

test('a stream goes on when the CACHE of its sequence is altered, and the table written again', async ({ service }) => {
  const stream = await streamOfFive(service)
  await sql(service, 'ALTER SEQUENCE animal_id_seq CACHE 20; ALTER SEQUENCE animal_id_seq CACHE 1')
  await sql(service, 'VACUUM FULL animal')
  await sleep(2_500) // the sequence is read once a second
  await create(service)
  await stream.received(6)
  expect(stream.ended).toBeFalsy()
})

/** Adds an animal, again while its id is taken. */
async function createPersistently({ post }: TestService, name: string): Promise<number> {
  for (;;) {
    const response = await post({ name, categoryId: 1 })
    if (response.status === 201) return ((await response.json()) as { id: number }).id
    expect(await response.json()).toMatchObject({ status: 503, message: expect.stringContaining('id is in use') })
  }
}

const SEQUENCES = { 'has given ids': 3, 'was never used': 0 }

test.for(Object.entries(SEQUENCES))(
  'what a sequence that %s gives below an imported id is sent, and the log and a metric say what to repair [F18]',
  async ([, last], { service }) => {
    await create(service, last)
    const settled = toCursor(BigInt(last))
    const stream = await openStream(service, { query: NEW, variables: { after: settled } })
    const imported = last + 2
    await sql(service, `${TOM_1000}, (${imported}, 'imported', 1)`)
    await service.log.line({
      msg: 'the sequence of ids must be repaired',
      resource: 'animals',
      reason: `there are ids above the sequence: SELECT setval('"public"."animal_id_seq"', (SELECT max(id) FROM "public"."animal"))`,
    })
    expect(await service.metric('petstore_sequence_behind')).toBe(1_000 - last)
    const { data } = await service.graphql('{ pets { liveCursor nodes { id } } }')
    const page = data?.['pets'] as unknown as { liveCursor: string; nodes: { id: string }[] }
    expect([page.liveCursor, page.nodes[0]?.id]).toEqual([settled, '1000'])
    const ids = [await createPersistently(service, 'a'), await createPersistently(service, 'b')]
    expect(ids).toEqual([last + 1, last + 3])
    const events = await stream.received(3)
    const received = events.map(({ data }) => Number(JSON.parse(data).data.petCreated.node.id))
    expect(received).toEqual([last + 1, imported, last + 3])
    await sql(service, "SELECT setval('animal_id_seq', (SELECT max(id) FROM animal))")
    await create(service)
    expect(await stream.received(5)).toHaveLength(5)
  },
)

test('a probe notices a sequence with CACHE, without a stream', async ({ service }) => {
  const cacheSize = () => service.metric('petstore_sequence_cache_size')
  await sql(service, 'ALTER SEQUENCE animal_id_seq CACHE 20')
  // A probe shares a check that is in progress, which may have read the sequence before.
  await waitUntil(async () => (await service.send('/readyz')).status === 200 && (await cacheSize()) === 20)
  await service.log.line({ reason: 'live lists miss animals: ALTER SEQUENCE "public"."animal_id_seq" CACHE 1' })
})
