import { createServer, type Socket } from 'node:net'
import { describe, expect } from 'vitest'
import { startTcpProxy } from '../chaos/tcp-proxy.ts'
import { withClient, type TestService, startService, testWithService as test, databaseOf } from '../support/harness.ts'
import { waitUntil } from '../support/timeouts.ts'

/** createPet through each API, with and without an Idempotency-Key. */
const creations: [string, (service: TestService, name: string) => Promise<{ code: string; status: number }>][] = [
  ['REST', async (service, name) => error(await service.post({ name, categoryId: 1 }))],
  [
    'REST with an Idempotency-Key',
    async (service, name) => error(await service.post({ name, categoryId: 1 }, { 'Idempotency-Key': keyOf(name) })),
  ],
  [
    'GraphQL',
    (service, name) =>
      mutate(service, 'mutation ($n: String!) { createPet(input: { name: $n, categoryId: 1 }) { id } }', name),
  ],
  [
    'GraphQL with an Idempotency-Key',
    (service, name) =>
      mutate(
        service,
        'mutation ($n: String!, $key: String!) { createPet(input: { name: $n, categoryId: 1 }, idempotencyKey: $key) { id } }',
        name,
      ),
  ],
]

/** An idempotency key that belongs to a name. */
const keyOf = (name: string) => name.replaceAll(/\W/g, '-')

async function error(response: Response): Promise<{ code: string; status: number }> {
  const body = (await response.json()) as { code: string; status: number }
  expect(body.status).toBe(response.status)
  return body
}

async function mutate(service: TestService, query: string, n: string): Promise<{ code: string; status: number }> {
  // Not the key of REST: PostgreSQL reports an error before it releases the lock of the key.
  const { data, errors } = await service.graphql(query, { n, key: `graphql-${keyOf(n)}` })
  expect(data).toBeNull()
  return errors?.[0]?.extensions ?? { code: 'none', status: 0 }
}

const unavailable = { code: 'UNAVAILABLE', status: 503 }
const unknown = { code: 'DEADLINE_EXCEEDED', status: 504 }
const internal = { code: 'INTERNAL', status: 500 }

/** An SQLSTATE, or one with the message of a pooler, its meaning, and the error of a write that fails with it. */
const states: [string, string, object][] = [
  ['25006', 'read-only transaction', unavailable],
  ['25P04', 'transaction timeout', unavailable],
  ['28P01', 'wrong password', unavailable],
  ['3D000', 'no such database', unavailable],
  ['40001', 'serialization failure', unavailable],
  ['40P01', 'deadlock', unavailable],
  ['53000', 'insufficient resources', unavailable],
  ['53100', 'disk full', unavailable],
  ['53200', 'out of memory', unavailable],
  ['53300', 'too many connections', unavailable],
  ['53400', 'a configured limit exceeded', unavailable],
  ['55P03', 'lock not available', unavailable],
  ['57014', 'statement timeout', unavailable],
  ['57P01', 'administrator’s shutdown', unavailable],
  ['57P02', 'crash', unavailable],
  ['57P03', 'starting up', unavailable],
  ['57P05', 'idle session timeout', unavailable],
  ['58030', 'input or output failed', unavailable],
  ['08006', 'connection failure', unknown],
  ['08007', 'transaction resolution unknown', unknown],
  ['40003', 'statement completion unknown', unknown],
  ['08P01query_wait_timeout', 'no connection of PgBouncer was free', unavailable],
  ['08P01server login has been failing, try again later (server_login_retry)', 'PgBouncer has no server', unavailable],
  ['08P01pgbouncer cannot connect to server', 'PgBouncer has no server', unavailable],
  ['08P01no more connections allowed (max_client_conn)', 'PgBouncer is full', unavailable],
  ['08P01server conn crashed?', 'PgBouncer lost the server', unknown],
  ['08P01query timeout', 'PgBouncer closed the connection', unknown],
  ['08P01another violation of the protocol', 'an error of the service', internal],
  ['P0001', 'an exception of a trigger', internal],
  ['22012', 'division by zero', internal],
  ['XX001', 'data corrupted', internal],
]

describe('a write that PostgreSQL rejects, through both APIs', { concurrent: true }, () => {
  test('503 where certainly nothing happened, 504 where that is unknown, else 500', async ({ service }) => {
    await withClient(
      (client) =>
        client.query(`
          CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS
            $$ BEGIN RAISE EXCEPTION '%', substr(NEW.name, 6) USING ERRCODE = left(NEW.name, 5); END $$;
          CREATE TRIGGER fail BEFORE INSERT ON animal FOR EACH ROW EXECUTE FUNCTION fail()`),
      databaseOf(service),
    )
    for (const [state, meaning, expected] of states) {
      for (const [title, create] of creations)
        expect(await create(service, state), `${state} ${meaning}, ${title}`).toMatchObject(expected)
    }
    expect(await (await service.send('/v1/pets')).text()).toBe('[]')
  })

  test('503 while nothing listens on its port, with a cached key', async ({ service, onTestFinished }) => {
    const proxy = await startTcpProxy(service.databaseUrl)
    const stops: (() => Promise<void>)[] = []
    onTestFinished(() => stops[0]?.())
    const peer = await startService(proxy.url, stops, { key: service.key })
    expect((await peer.send('/v1/pets')).status).toBe(200)
    await proxy.down()
    await waitUntil(() => peer.database.pool.totalCount === 0) // a write on a connection that is ending is 504
    for (const [title, create] of creations) expect(await create(peer, 'x'), title).toMatchObject(unavailable)
    expect((await peer.send('/v1/pets')).status).toBe(503)
  })
})

/** AuthenticationOk of PostgreSQL's protocol; the connection is not ready yet. */
const authenticationOk = Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, 0])

/** What a server does to those who connect. */
const unwelcoming: Record<string, (socket: Socket) => unknown> = {
  'is silent': () => {},
  'closes immediately': (socket) => socket.end(),
  'resets immediately': (socket) => socket.resetAndDestroy(),
  'closes on the startup message': (socket) => socket.once('data', () => socket.end()),
  'resets on the startup message': (socket) => socket.once('data', () => socket.resetAndDestroy()),
  'closes after authentication': (socket) => socket.once('data', () => socket.end(authenticationOk)),
}

describe('a write that obtains no connection is 503, in both APIs', { concurrent: true }, () => {
  for (const [what, welcome] of Object.entries(unwelcoming)) {
    test(`since the server ${what}`, async ({ service, onTestFinished }) => {
      const proxy = await startTcpProxy(service.databaseUrl)
      const stops: (() => Promise<void>)[] = []
      const peer = await startService(proxy.url, stops, { key: service.key, DATABASE_CHECKOUT_TIMEOUT_MS: 3_000 })
      expect((await peer.send('/v1/pets')).status).toBe(200) // caches the key
      await proxy.down()
      await waitUntil(() => peer.database.pool.totalCount === 0) // a write on a connection that is ending is 504
      const sockets = new Set<Socket>()
      const server = createServer((socket) => {
        sockets.add(socket.on('error', () => {}))
        welcome(socket)
      })
      onTestFinished(async () => {
        await stops[0]?.()
        sockets.forEach((socket) => socket.destroy())
        server.close()
      })
      await new Promise<void>((listening) => server.listen(Number(new URL(proxy.url).port), '127.0.0.1', listening))
      const responses = creations.map(async ([title, create]) =>
        expect(await create(peer, 'x'), title).toMatchObject(unavailable),
      )
      await Promise.all(responses)
    })
  }
})
