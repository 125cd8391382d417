import { describe, expect, vi } from 'vitest'
import { loadConfig } from '../../src/config.ts'
import { openLine } from '../chaos/tcp-proxy.ts'
import { cloneDatabase, dropDatabase, onServer, type Running, startService, test } from '../support/harness.ts'
import { expectWholePool } from './expect-pool-healthy.ts'

const { timeouts } = loadConfig({})

const databaseOf = (running: Running) => new URL(running.databaseUrl).pathname.slice(1)
const statusOf = ({ status }: Response) => status
const pet = { name: 'x', categoryId: 1 }

async function expectUnavailable(response: Response): Promise<void> {
  expect(await response.json()).toEqual({ code: 'UNAVAILABLE', status: 503, message: expect.any(String) })
  expect([response.status, response.headers.get('retry-after')]).toEqual([503, '1'])
}

describe('a locked table', () => {
  test('writes and reads are 503 within the deadline, and nothing was written', async ({ running }) => {
    await running.send('/v1/pets')
    await onServer(async (client) => {
      await client.query('BEGIN; LOCK TABLE animal IN ACCESS EXCLUSIVE MODE')
      const began = Date.now()
      const [write, read] = await Promise.all([running.post(pet), running.send('/v1/pets')])
      expect(Date.now() - began).toBeLessThan(timeouts.checkoutMs + timeouts.queryMs)
      await expectUnavailable(write)
      await expectUnavailable(read)
      await client.query('ROLLBACK')
    }, databaseOf(running))
    expect(await (await running.send('/v1/pets')).text()).toBe('[]')
    await expectWholePool(running)
  })

  test('with every connection in use, invalid requests get responses, and valid ones afterwards', async ({
    running,
  }) => {
    await running.send('/v1/pets')
    await onServer(async (client) => {
      await client.query('BEGIN; LOCK TABLE animal IN ACCESS EXCLUSIVE MODE')
      const held = Array.from({ length: 8 }, () => running.post(pet))
      const answers = await Promise.all([
        running.post('{'),
        running.send('/v1/pets?limit=0'),
        running.send('/v1/pets/abc'),
        running.send('/v1/pets', { method: 'PUT' }),
        fetch(`${running.base}/v1/pets`),
        fetch(`${running.base}/livez`),
      ])
      expect(answers.map((answer) => answer.status)).toEqual([400, 400, 404, 405, 401, 200])
      for (const response of await Promise.all(held)) await expectUnavailable(response)
      await client.query('ROLLBACK')
    }, databaseOf(running))
    expect((await running.post(pet)).status).toBe(201)
    await expectWholePool(running)
  })
})

describe('lost connections', () => {
  test('that were idle are replaced in every pool without an error, and logged', async ({ running }) => {
    const service = await running.another({ rateLimits: { ...loadConfig({}).rateLimits, shared: true } })
    const ask = async () => (await Promise.all(['/v1/pets', '/readyz'].map((path) => service.send(path)))).map(statusOf)
    expect(await ask()).toEqual([200, 200])
    await terminate(running)
    const lost = () => service.log.lines.filter(({ msg }) => msg === 'connection lost')
    await vi.waitUntil(() => lost().length >= 3) // of requests, of rateLimits and of readiness
    expect(await ask()).toEqual([200, 200])
  })
})

async function terminate(running: Running): Promise<void> {
  await onServer((client) =>
    client.query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1', [databaseOf(running)]),
  )
}

describe('the connection to the database', () => {
  test('lost after the commit and before its response: 504, and the animal exists; a retry with the same key returns it', async () => {
    const stops: (() => Promise<void>)[] = []
    const databaseUrl = await cloneDatabase()
    const line = await openLine(databaseUrl)
    const running = await startService(line.url, stops)
    expect((await running.post(pet)).status).toBe(201)

    const unknown = { code: 'DEADLINE_EXCEEDED', status: 504 }
    for (const [n, create] of [createByRest, createByGraphQL].entries()) {
      for (const [i, key] of [undefined, `key-${n}`].entries()) {
        await newest(running) // through a connection that is there for the write, too
        line.hold('answers')
        const answer = create(running, key)
        await animalsReach(databaseUrl, 2 + 2 * n + i)
        line.cut()
        expect(await answer).toEqual(unknown)
        line.mend()
        if (key) expect(await create(running, key)).toEqual({ id: await newest(running) })
      }
    }
    expect(((await (await running.send('/v1/pets')).json()) as unknown[]).length).toBe(5)
    await expectWholePool(running)
    await Promise.all(stops.map((stop) => stop()))
    await line.down()
    await dropDatabase(databaseUrl)
  })

  test('without a response to the startup message: a write is 503, for it was never sent', async ({
    running,
    onTestFinished,
  }) => {
    const stops: (() => Promise<void>)[] = []
    const line = await openLine(running.databaseUrl)
    onTestFinished(async () => {
      await line.down()
      await Promise.all(stops.map((stop) => stop()))
    })
    const service = await startService(line.url, stops, { key: running.key })
    await service.send('/v1/pets') // the key is known from now on
    line.hold('answers')
    line.cut()
    const ways = [createByRest, createByGraphQL].flatMap((create) => [create(service), create(service, 'key')])
    for (const outcome of await Promise.all(ways)) expect(outcome).toEqual({ code: 'UNAVAILABLE', status: 503 })
  })

  test('refused at startup: 503 in both APIs and on /readyz, never 401; served once it is available', async ({
    running,
  }) => {
    const stops: (() => Promise<void>)[] = []
    const line = await openLine(running.databaseUrl)
    await line.down()
    const { base, send } = await startService(line.url, stops, { key: running.key })
    await expectUnavailable(await send('/v1/pets'))
    const graphql = await send('/graphql', { method: 'POST' })
    expect(await graphql.json()).toMatchObject({ errors: [{ extensions: { code: 'UNAVAILABLE', status: 503 } }] })
    expect(graphql.status).toBe(503)
    await expectUnavailable(await fetch(`${base}/readyz`))
    expect((await fetch(`${base}/livez`)).status).toBe(200)

    await line.up()
    expect((await fetch(`${base}/readyz`)).status).toBe(200)
    expect((await send('/v1/pets')).status).toBe(200)
    await Promise.all(stops.map((stop) => stop()))
    await line.down()
  })

  test('slow: /readyz is 200 for all concurrent requests', async ({ running }) => {
    const stops: (() => Promise<void>)[] = []
    const line = await openLine(running.databaseUrl)
    const { base } = await startService(line.url, stops, { key: running.key })
    expect((await fetch(`${base}/readyz`)).status).toBe(200)
    line.latency(20)
    const asked = Array.from({ length: 100 }, async () => (await fetch(`${base}/readyz`)).status)
    expect(new Set(await Promise.all(asked))).toEqual(new Set([200]))
    await Promise.all(stops.map((stop) => stop()))
    await line.down()
  })

  test('without responses: a read is 503 and a write 504 within the deadline', async () => {
    const stops: (() => Promise<void>)[] = []
    const databaseUrl = await cloneDatabase()
    const line = await openLine(databaseUrl)
    const running = await startService(line.url, stops)
    await Promise.all([running.post(pet), running.send('/v1/pets')])

    line.hold('answers')
    const began = Date.now()
    const [read, write] = await Promise.all([running.send('/v1/pets'), running.post(pet)])
    expect([read.status, write.status]).toEqual([503, 504])
    expect(Date.now() - began).toBeLessThan(timeouts.checkoutMs + timeouts.queryMs + 500)
    line.mend()
    await expectWholePool(running)
    await line.down()
    await Promise.all(stops.map((stop) => stop()))
    await dropDatabase(databaseUrl)
  })
})

/** What came of a creation: the animal's id, or the error. */
type Outcome = { id: string } | { code: string; status: number }

async function createByRest(running: Running, key?: string): Promise<Outcome> {
  const response = await running.post(pet, key ? { 'Idempotency-Key': key } : {})
  const body = (await response.json()) as { id: number } | { code: string; status: number } // an Animal, or an Error
  return 'id' in body ? { id: String(body.id) } : { code: body.code, status: body.status }
}

async function createByGraphQL(running: Running, key?: string): Promise<Outcome> {
  const query = 'mutation ($k: String) { createPet(input: { name: "x", categoryId: 1 }, idempotencyKey: $k) { id } }'
  const { data, errors } = await running.graphql(query, { k: key })
  return errors?.[0]?.extensions ?? { id: String(data?.['createPet']?.['id']) }
}

async function newest({ send }: Running): Promise<string> {
  return String(((await (await send('/v1/pets?limit=1')).json()) as { id: number }[])[0]?.id)
}

async function animalsReach(databaseUrl: string, count: number): Promise<void> {
  await onServer(async (client) => {
    const deadline = Date.now() + 2_500
    while (Date.now() < deadline) {
      const { rows } = await client.query('SELECT count(*)::int AS n FROM animal')
      if (rows[0].n >= count) return
    }
    throw new Error('the write did not arrive')
  }, new URL(databaseUrl).pathname.slice(1))
}
