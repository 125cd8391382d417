import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'vitest'
import { toCursor } from '../../src/animals/cursor.ts'
import { openStream } from '../support/event-stream.ts'
import { databaseOf, type TestService, testWithService as test, withClient } from '../support/harness.ts'
import { waitUntil } from '../support/timeouts.ts'

const NEW = 'subscription New($after: String) { petCreated(after: $after) { cursor node { id name } } }'

const sql = (service: TestService, text: string) => withClient((client) => client.query(text), databaseOf(service))

async function create({ post }: TestService, count = 1): Promise<void> {
  for (let n = 0; n < count; n++) expect((await post({ name: 'Rex', categoryId: 1 })).status).toBe(201)
}

/** @returns the text of a subscription that ends at once */
async function rejected(service: TestService, variables: object, headers = {}): Promise<string> {
  const stream = await openStream(service, { query: NEW, variables, headers })
  await waitUntil(() => stream.ended)
  return stream.text
}

test('a cursor above every id that the database has assigned is rejected where animals would be missed', async ({
  service,
}) => {
  await create(service, 3)
  const [newest, tooNew] = [toCursor(3n), toCursor(4n)]
  const advice = 'as after a restore from a backup: begin with a new page'
  const field = (name: string) => ({ path: [name], message: `is newer than every animal, ${advice}` })
  const [after, before] = [field('after'), field('before')].map((one) => ({ code: 'INVALID_ARGUMENT', fields: [one] }))

  const event = /data: (.*)/.exec(await rejected(service, { after: tooNew }))?.[1] ?? ''
  expect(JSON.parse(event)).toMatchObject({ errors: [{ extensions: after }] })
  expect(await rejected(service, {}, { 'Last-Event-ID': tooNew })).toContain(`Last-Event-ID: is newer than every`)
  for (const size of ['first: 2', 'last: 2']) {
    const page = (cursor: string) => service.graphql(`{ pets(${size}, before: "${cursor}") { nodes { id } } }`)
    expect(await page(tooNew)).toMatchObject({ data: null, errors: [{ extensions: before }] })
    expect(await page(newest)).toEqual({ data: { pets: { nodes: [] } } })
  }
  const older = await service.graphql(`{ pets(first: 2, after: "${tooNew}") { nodes { id } } }`)
  expect(older).toEqual({ data: { pets: { nodes: [{ id: '3' }, { id: '2' }] } } })
  expect(await (await service.send(`/v1/pets?limit=1&cursor=${tooNew}`)).json()).toMatchObject([{ id: 3 }])
})

const CHANGES = {
  'was rolled back': "BEGIN; INSERT INTO animal (name, category_id) VALUES ('Tom', 1); ROLLBACK",
  'was deleted': "INSERT INTO animal (name, category_id) VALUES ('Tom', 1); DELETE FROM animal",
  'was imported': "INSERT INTO animal (id, name, category_id) VALUES (2, 'Tom', 1)",
  'was assigned before the sequence was moved':
    "INSERT INTO animal (name, category_id) VALUES ('Tom', 1); ALTER SEQUENCE animal_id_seq RESTART WITH 1000",
}

test.for(Object.entries(CHANGES))('the cursor of an id that %s is accepted', async ([, change], { service }) => {
  await create(service)
  await sql(service, change)
  const stream = await openStream(service, { query: NEW, variables: { after: toCursor(2n) } })
  await sql(service, "INSERT INTO animal (id, name, category_id) VALUES (1000, 'Kit', 1)")
  await stream.received(1)
  expect(stream.text).toContain('"id":"1000"')
})

test('a stream that is open while the database goes back to an older state ends, and its cursor is rejected', async ({
  service,
}) => {
  const stream = await openStream(service, { query: NEW })
  await create(service, 5)
  await stream.received(5)
  await sql(service, 'ALTER TABLE animal RENAME TO unavailable')
  await service.log.line({ msg: 'failed to read new animals' })
  const next = await withClient(async (client) => {
    const restore = 'TRUNCATE unavailable RESTART IDENTITY CASCADE; ALTER TABLE unavailable RENAME TO animal'
    // An open transaction, because of which a known settled id would be used.
    const insert = "INSERT INTO animal (name, category_id) VALUES ('held', 1)"
    await client.query(`BEGIN; ${restore}; COMMIT AND CHAIN; ${insert}`)
    await sleep(1_000) // the feed has read again
    const opened = openStream(service, { query: NEW })
    await sleep(500) // a stream that does not wait would have begun, or begin too late to fail the test
    await client.query('COMMIT')
    return opened
  }, databaseOf(service))
  await waitUntil(() => stream.ended)
  expect(new Set(stream.events().map(({ event }) => event))).toEqual(new Set(['next'])) // clients subscribe again
  expect(await rejected(service, { after: stream.events().at(-1)?.id })).toContain('begin with a new page')
  await create(service)
  await next.received(2)
  expect(next.events().map(({ data }) => JSON.parse(data).data.petCreated.node)).toEqual([
    { id: '1', name: 'held' },
    { id: '2', name: 'Rex' },
  ])
})
