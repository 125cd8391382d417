import { rename } from 'node:fs/promises'
import { describe, expect } from 'vitest'
import { startBehindProxy } from '../support/behind-proxy.ts'
import { creations } from '../support/creations.ts'
import { temporaryFile } from '../support/files.ts'
import {
  databaseOf,
  type TestService,
  testWithService as test,
  testWithSharedService,
  withClient,
} from '../support/harness.ts'
import { whileLocked } from '../support/locks.ts'
import { interceptStatements } from '../support/statements.ts'
import { waitUntil } from '../support/timeouts.ts'

const statusOf = ({ status }: Response) => status
const pet = { name: 'x', categoryId: 1 }

/** Expects that every connection of the pool is available and works, and that no request waits for one. */
async function expectPoolHealthy({ database: { pool } }: TestService): Promise<void> {
  const { max } = pool.options
  const clients = await Promise.all(Array.from({ length: max }, () => pool.connect()))
  for (const client of clients) await client.query('SELECT 1')
  clients.forEach((client) => client.release())
  expect(pool).toMatchObject({ totalCount: max, idleCount: max, waitingCount: 0 })
}

test('while a table is locked, reads and writes are 503; nothing was written, and all succeeds afterwards [W12]', async ({
  service: patient,
}) => {
  const service = await patient.startPeer({ limits: { lockTimeoutMs: 500 } })
  await service.send('/v1/pets')
  await whileLocked(service, async () => {
    const blocked = [...Array.from({ length: 8 }, () => service.post(pet)), service.send('/v1/pets')]
    for (const response of await Promise.all(blocked)) {
      expect([response.status, response.headers.get('retry-after')]).toEqual([503, '1'])
      expect(await response.json()).toMatchObject({ message: expect.stringContaining('lock') })
    }
  })
  expect(await (await service.send('/v1/pets')).text()).toBe('[]')
  await service.create()
  await expectPoolHealthy(service)
})

test('a statement that is too slow is ended: 503, and nothing was written [W12]', async ({ service: patient }) => {
  const service = await patient.startPeer({ limits: { statementTimeoutMs: 1_000 } })
  await service.database.pool.query(`
    CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(60); RETURN NEW; END $$;
    CREATE TRIGGER slow BEFORE INSERT ON animal FOR EACH ROW EXECUTE FUNCTION slow()`)
  const responses = await Promise.all([service.post(pet), service.post(pet, { 'Idempotency-Key': 'k' })])
  expect(responses.map(statusOf)).toEqual([503, 503])
  expect(await (await service.send('/v1/pets')).text()).toBe('[]')
  await expectPoolHealthy(service)
})

test('idle connections that end are replaced without an error, in every pool', async ({ service }) => {
  const peer = await service.startPeer()
  const sendBoth = async () => (await Promise.all(['/v1/pets', '/readyz'].map((path) => peer.send(path)))).map(statusOf)
  expect(await sendBoth()).toEqual([200, 200])
  await withClient((client) =>
    client.query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1', [databaseOf(service)]),
  )
  await waitUntil(() => peer.database.pool.totalCount + peer.database.backgroundPool.totalCount === 0)
  expect(await sendBoth()).toEqual([200, 200])
})

test('a certificate that cannot be read fails the requests that need a connection, and no later one', async ({
  service,
}) => {
  const file = temporaryFile('')
  const away = `${file}.away`
  const url = new URL(service.databaseUrl)
  url.searchParams.set('sslmode', 'disable')
  url.searchParams.set('sslrootcert', file)
  const { database, send } = await service.startPeer({ DATABASE_URL: url.href, DATABASE_POOL_SIZE: 1 })
  expect((await send('/v1/pets')).status).toBe(200)
  await rename(file, away)
  const fail = () => Promise.reject(new Error('broken')) // its connection is replaced for the next one that waits
  const works = [fail, async () => {}, async () => {}]
  const results = await Promise.allSettled(works.map((work) => database.pool.withConnection(work)))
  const unreadable = { reason: { message: expect.stringContaining(file) } }
  expect(results).toMatchObject([{ status: 'rejected' }, unreadable, unreadable])
  expect((await send('/v1/pets')).status).toBe(503)
  await rename(away, file)
  expect((await send('/v1/pets')).status).toBe(200)
})

describe('the connection to the database', () => {
  test('lost after the commit and before its response: 504, and the animal exists; a retry with the same key returns it [W14]', async ({
    service: owner,
  }) => {
    const { peer: service, proxy } = await startBehindProxy(owner)
    const { animal } = owner.database.prisma
    let isLosing = false
    interceptStatements(service, ({ text }, send) => {
      if (isLosing && text.includes('INSERT')) proxy.hold('responses')
      return send()
    })
    for (const [title, create] of Object.entries(creations)) {
      const before = await animal.count()
      isLosing = true
      const response = create(service, 'x')
      await waitUntil(async () => (await animal.count()) > before)
      isLosing = false
      proxy.cut()
      expect(await response, title).toMatchObject({ code: 'DEADLINE_EXCEEDED', status: 504 })
      proxy.restore()
      if (!title.includes('Idempotency-Key')) continue
      const { id } = await animal.findFirstOrThrow({ orderBy: { id: 'desc' } })
      expect(await create(service, 'x'), title).toEqual({ id: String(id) })
    }
    expect(await animal.count()).toBe(4)
    await expectPoolHealthy(service)
  })

  testWithSharedService('silent: a read is 503 and a write 504 after the timeout', async ({ service }) => {
    const { peer, proxy } = await startBehindProxy(service, { limits: { queryTimeoutMs: 3_000 } })
    await expectPoolHealthy(peer) // so that each has an open connection
    await peer.send('/v1/pets') // caches the key
    proxy.hold('responses')
    const [read, write] = await Promise.all([peer.send('/v1/pets'), peer.post(pet)])
    expect([read.status, write.status]).toEqual([503, 504])
    proxy.restore()
    await expectPoolHealthy(peer)
  })
})
