import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect } from 'vitest'
import { startTcpProxy } from '../chaos/tcp-proxy.ts'
import { startBehindProxy } from '../support/behind-proxy.ts'
import { withClient, type TestService, startService, testWithService as test, databaseOf } from '../support/harness.ts'
import { expectPoolHealthy } from './expect-pool-healthy.ts'
import { waitUntil } from '../support/timeouts.ts'

const statusOf = ({ status }: Response) => status
const pet = { name: 'x', categoryId: 1 }

async function expectUnavailable(response: Response): Promise<void> {
  expect(await response.json()).toEqual({ code: 'UNAVAILABLE', status: 503, message: expect.any(String) })
  expect([response.status, response.headers.get('retry-after')]).toEqual([503, '1'])
}

const lockMs = 500

describe('a locked table', () => {
  test('writes and reads are 503 while it is locked, and nothing was written', async ({ service: patient }) => {
    const service = await patient.startPeer({ DATABASE_LOCK_TIMEOUT_MS: lockMs })
    await service.send('/v1/pets')
    await withClient(async (client) => {
      await client.query('BEGIN; LOCK TABLE animal IN ACCESS EXCLUSIVE MODE')
      const [write, read] = await Promise.all([service.post(pet), service.send('/v1/pets')])
      await expectUnavailable(write)
      await expectUnavailable(read)
      await client.query('ROLLBACK')
    }, databaseOf(service))
    expect(await (await service.send('/v1/pets')).text()).toBe('[]')
    await expectPoolHealthy(service)
  })

  test('with every connection blocked, invalid requests are rejected, and valid ones succeed afterwards', async ({
    service: patient,
  }) => {
    const service = await patient.startPeer({ DATABASE_LOCK_TIMEOUT_MS: lockMs })
    await service.send('/v1/pets')
    await withClient(async (client) => {
      await client.query('BEGIN; LOCK TABLE animal IN ACCESS EXCLUSIVE MODE')
      const blocked = Array.from({ length: 8 }, () => service.post(pet))
      const responses = await Promise.all([
        service.post('{'),
        service.send('/v1/pets?limit=0'),
        service.send('/v1/pets/abc'),
        service.send('/v1/pets', { method: 'PUT' }),
        fetch(`${service.base}/v1/pets`),
        fetch(`${service.base}/livez`),
      ])
      expect(responses.map((response) => response.status)).toEqual([400, 400, 404, 405, 401, 200])
      for (const response of await Promise.all(blocked)) await expectUnavailable(response)
      await client.query('ROLLBACK')
    }, databaseOf(service))
    expect((await service.post(pet)).status).toBe(201)
    await expectPoolHealthy(service)
  })
})

describe('connections that end', () => {
  test('that are idle are replaced without an error, in every pool, and logged', async ({ service }) => {
    const peer = await service.startPeer({ RATE_LIMIT_STORE: 'database' })
    const sendBoth = async () =>
      (await Promise.all(['/v1/pets', '/readyz'].map((path) => peer.send(path)))).map(statusOf)
    expect(await sendBoth()).toEqual([200, 200])
    const terminated = await terminate(service)
    const lines = () => [service, peer].flatMap(({ log }) => log.lines.filter(({ msg }) => msg === 'connection lost'))
    const lost = () => lines().reduce((sum, { count }) => sum + Number(count), 0)
    // The log of the outage tries the connection of the readiness probe, which then is not idle, in each instance.
    await waitUntil(() => lost() >= terminated - 2)
    await sleep(500)
    expect(await sendBoth()).toEqual([200, 200])
  })
})

/** Ends every connection to the service's database. @returns their number */
async function terminate(service: TestService): Promise<number> {
  const { rowCount } = await withClient((client) =>
    client.query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1', [databaseOf(service)]),
  )
  return rowCount ?? 0
}

describe('the connection to the database', () => {
  test('lost after the commit and before its response: 504, and the animal exists; a retry with the same key returns it', async ({
    service: owner,
  }) => {
    const { peer: service, proxy } = await startBehindProxy(owner)
    expect((await service.post(pet)).status).toBe(201)

    const unknown = { code: 'DEADLINE_EXCEEDED', status: 504 }
    for (const [n, create] of [createByRest, createByGraphQL].entries()) {
      for (const [i, key] of [undefined, `key-${n}`].entries()) {
        await newest(service) // through a connection that is there for the write, too
        proxy.hold('responses')
        const response = create(service, key)
        await animalsReach(owner, 2 + 2 * n + i)
        proxy.cut()
        expect(await response).toEqual(unknown)
        proxy.restore()
        if (key) expect(await create(service, key)).toEqual({ id: await newest(service) })
      }
    }
    expect(((await (await service.send('/v1/pets')).json()) as unknown[]).length).toBe(5)
    await expectPoolHealthy(service)
  })

  test('down at start: 503 in both APIs and on /readyz, not 401, until it is up', async ({ service }) => {
    const stops: (() => Promise<void>)[] = []
    const proxy = await startTcpProxy(service.databaseUrl)
    await proxy.down()
    const { base, send } = await startService(proxy.url, stops, { key: service.key })
    await expectUnavailable(await send('/v1/pets'))
    const graphql = await send('/graphql', { method: 'POST' })
    expect(await graphql.json()).toMatchObject({ errors: [{ extensions: { code: 'UNAVAILABLE', status: 503 } }] })
    expect(graphql.status).toBe(503)
    await expectUnavailable(await fetch(`${base}/readyz`))
    expect((await fetch(`${base}/livez`)).status).toBe(200)

    await proxy.up()
    expect((await fetch(`${base}/readyz`)).status).toBe(200)
    expect((await send('/v1/pets')).status).toBe(200)
    await Promise.all(stops.map((stop) => stop()))
    await proxy.down()
  })

  test('slow: /readyz is 200 for concurrent requests', async ({ service }) => {
    const { peer, proxy } = await startBehindProxy(service)
    expect((await fetch(`${peer.base}/readyz`)).status).toBe(200)
    proxy.latency(20)
    const statuses = Array.from({ length: 100 }, async () => (await fetch(`${peer.base}/readyz`)).status)
    expect(new Set(await Promise.all(statuses))).toEqual(new Set([200]))
  })

  test('silent: a read is 503 and a write 504 after the timeout', async ({ service }) => {
    const { peer, proxy } = await startBehindProxy(service, { DATABASE_QUERY_TIMEOUT_MS: 3_000 })
    await Promise.all([peer.post(pet), peer.send('/v1/pets')])
    expect(peer.database.pool.idleCount).toBe(2) // one for each
    proxy.hold('responses')
    const [read, write] = await Promise.all([peer.send('/v1/pets'), peer.post(pet)])
    expect([read.status, write.status]).toEqual([503, 504])
    proxy.restore()
    await expectPoolHealthy(peer)
  })
})

/** What came of a creation: the animal's id, or the error. */
type Outcome = { id: string } | { code: string; status: number }

async function createByRest(service: TestService, key?: string): Promise<Outcome> {
  const response = await service.post(pet, key ? { 'Idempotency-Key': key } : {})
  const body = (await response.json()) as { id: number } | { code: string; status: number } // an Animal, or an Error
  return 'id' in body ? { id: String(body.id) } : { code: body.code, status: body.status }
}

async function createByGraphQL(service: TestService, key?: string): Promise<Outcome> {
  const query = 'mutation ($k: String) { createPet(input: { name: "x", categoryId: 1 }, idempotencyKey: $k) { id } }'
  const { data, errors } = await service.graphql(query, { k: key })
  return errors?.[0]?.extensions ?? { id: String(data?.['createPet']?.['id']) }
}

async function newest({ send }: TestService): Promise<string> {
  return String(((await (await send('/v1/pets?limit=1')).json()) as { id: number }[])[0]?.id)
}

async function animalsReach(service: TestService, count: number): Promise<void> {
  await withClient(async (client) => {
    const animals = async () => (await client.query('SELECT count(*)::int AS n FROM animal')).rows[0].n
    await waitUntil(async () => (await animals()) >= count)
  }, databaseOf(service))
}
