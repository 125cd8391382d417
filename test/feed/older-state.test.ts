import { expect } from 'vitest'
import { toCursor } from '../../src/pets/animal.ts'
import { openStream } from '../support/event-stream.ts'
import { type TestService, testWithService as test } from '../support/harness.ts'
import { waitUntil } from '../support/timeouts.ts'

const NEW = 'subscription New($after: String) { petCreated(after: $after) { cursor node { id name } } }'

const sql = ({ database }: TestService, text: string) => database.pool.query(text)

const openAfter = (service: TestService, id: bigint) =>
  openStream(service, { query: NEW, variables: { after: toCursor(id) } })

async function create(service: TestService, count = 1): Promise<void> {
  for (let n = 0; n < count; n++) await service.create()
}

async function streamOfFive(service: TestService) {
  const stream = await openStream(service, { query: NEW })
  await create(service, 5)
  await stream.received(5)
  return stream
}

test('a cursor above every assigned id is rejected where animals would be missed, by streams also one above the sequence [F12]', async ({
  service,
}) => {
  await create(service, 3)
  await sql(service, "INSERT INTO animal (id, name, category_id) VALUES (1000, 'imported', 1)")
  const advice = 'as after a restore from a backup: begin with a new page'
  const field = (name: string) => ({ path: [name], message: `is newer than every animal, ${advice}` })

  for (const id of [4n, 1000n]) {
    const stream = await openAfter(service, id)
    const [next] = await stream.received(2)
    const extensions = { code: 'INVALID_ARGUMENT', fields: [field('after')] }
    expect(JSON.parse(next?.data ?? '')).toMatchObject({ errors: [{ extensions }] })
    const resumed = await openStream(service, { query: NEW, headers: { 'Last-Event-ID': toCursor(id) } })
    await waitUntil(() => resumed.ended)
    expect(JSON.parse(resumed.text)).toMatchObject({ errors: [{ extensions: { fields: [field('Last-Event-ID')] } }] })
  }
  const before = (id: bigint) => service.graphql(`{ pets(last: 2, before: "${toCursor(id)}") { nodes { id } } }`)
  const extensions = { code: 'INVALID_ARGUMENT', fields: [field('before')] }
  expect(await before(1001n)).toMatchObject({ data: null, errors: [{ extensions }] })
  expect(await before(1000n)).toEqual({ data: { pets: { nodes: [] } } })
  const older = await service.graphql(`{ pets(first: 2, after: "${toCursor(1001n)}") { nodes { id } } }`)
  expect(older).toEqual({ data: { pets: { nodes: [{ id: '1000' }, { id: '3' }] } } })
  expect(await (await service.send(`/v1/pets?limit=1&cursor=${toCursor(1001n)}`)).json()).toMatchObject([{ id: 1000 }])
})

test('the cursor of an id that was assigned is accepted, though its animal is gone and the sequence was moved', async ({
  service,
}) => {
  await create(service, 2)
  await sql(service, 'DELETE FROM animal; ALTER SEQUENCE animal_id_seq RESTART WITH 1000')
  const stream = await openAfter(service, 2n)
  await create(service)
  await stream.received(1)
  expect(stream.text).toContain('"id":"1000"')
})

const GIVEN_AGAIN = 'INSERT INTO animal (name, category_id) SELECT n, 1 FROM generate_series(1, 9) AS n'

test('a stream that is open while the database goes back to an older state ends; a page has its liveCursor even before [F13, F14]', async ({
  service,
}) => {
  const stream = await streamOfFive(service)
  await sql(service, 'ALTER TABLE animal RENAME TO unavailable')
  await service.log.line({ msg: 'failed to read new items', resource: 'animals' })
  await sql(
    service,
    `BEGIN; DELETE FROM unavailable; SELECT setval('animal_id_seq', 1, false);
    ALTER TABLE unavailable RENAME TO animal; ${GIVEN_AGAIN}; COMMIT`,
  )
  const page = await service.graphql('{ pets(first: 1) { liveCursor nodes { name } } }')
  expect(page.data?.['pets']).toEqual({ liveCursor: toCursor(9n), nodes: [{ name: '9' }] })
  await waitUntil(() => stream.ended)
  expect(stream.events()).toHaveLength(7) // the five, an error and `complete`
  const fields = [{ path: ['after'], message: expect.stringContaining('begin with a new page') }]
  const error = { extensions: { code: 'INVALID_ARGUMENT', fields } }
  expect(JSON.parse(stream.events()[5]?.data ?? '')).toMatchObject({ errors: [error] })
  const next = await openAfter(service, 0n)
  const names = (await next.received(9)).map(({ data }) => JSON.parse(data).data.petCreated.node.name)
  expect(names).toEqual(['1', '2', '3', '4', '5', '6', '7', '8', '9'])
})

test.for([
  ['set back', "SELECT setval('animal_id_seq', 2)"],
  ['restarted, and has given as many ids again', `TRUNCATE animal RESTART IDENTITY CASCADE; ${GIVEN_AGAIN}`],
  [
    'set back below a truncated table, and has given as many ids again',
    `TRUNCATE animal CASCADE; SELECT setval('animal_id_seq', 1, false); ${GIVEN_AGAIN}`,
  ],
])('a sequence that was %s ends a stream', async ([, change], { service }) => {
  const stream = await streamOfFive(service)
  await sql(service, `BEGIN; ${change}; COMMIT`)
  await waitUntil(() => stream.ended)
  expect(stream.text).toContain('begin with a new page')
})

test('a stream goes on when its table is written again, and the CACHE of its sequence altered', async ({ service }) => {
  const stream = await streamOfFive(service)
  await sql(service, 'VACUUM FULL animal')
  await sql(service, 'ALTER SEQUENCE animal_id_seq CACHE 20')
  await waitUntil(async () => (await service.metric('petstore_sequence_cache_size')) === 20) // so the feed has read it
  await create(service)
  await stream.received(6)
  expect(stream.ended).toBeFalsy()
})

test('what the sequence gives below an imported id is sent, and the log and a metric say what to repair [F18]', async ({
  service,
}) => {
  const stream = await openAfter(service, 0n)
  await sql(service, "INSERT INTO animal (id, name, category_id) VALUES (2, 'imported', 1), (1000, 'imported', 1)")
  await service.log.line({
    msg: 'the sequence of ids must be repaired',
    resource: 'animals',
    reason: `there are ids above the sequence: SELECT setval('"public"."animal_id_seq"', (SELECT max(id) FROM "public"."animal"))`,
  })
  expect(await service.metric('petstore_sequence_behind')).toBe(1_000)
  const { data } = await service.graphql('{ pets { liveCursor nodes { id } } }')
  expect(data).toEqual({ pets: { liveCursor: toCursor(0n), nodes: [{ id: '1000' }, { id: '2' }] } })
  await create(service)
  const taken = await service.post({ name: 'Rex', categoryId: 1 })
  expect(await taken.json()).toMatchObject({ status: 503, message: expect.stringContaining('id is in use') })
  await create(service)
  const received = (await stream.received(3)).map(({ data }) => JSON.parse(data).data.petCreated.node.id)
  expect(received).toEqual(['1', '2', '3'])
  await sql(service, "SELECT setval('animal_id_seq', (SELECT max(id) FROM animal))")
  await create(service)
  expect(await stream.received(5)).toHaveLength(5)
})

test('a probe notices a sequence with CACHE, without a stream', async ({ service }) => {
  const cacheSize = () => service.metric('petstore_sequence_cache_size')
  await sql(service, 'ALTER SEQUENCE animal_id_seq CACHE 20')
  // A probe shares a check that is in progress, which may have read the sequence before.
  await waitUntil(async () => (await service.send('/readyz')).status === 200 && (await cacheSize()) === 20)
  await service.log.line({ reason: 'live lists miss animals: ALTER SEQUENCE "public"."animal_id_seq" CACHE 1' })
})
