import { createServer, type Socket } from 'node:net'
import { describe, expect } from 'vitest'
import { toApiError } from '../../src/errors.ts'
import { startTcpProxy } from '../chaos/tcp-proxy.ts'
import { creations } from '../support/creations.ts'
import { testWithService as test, testWithSharedService } from '../support/harness.ts'
import { waitUntil } from '../support/timeouts.ts'

const unavailable = { code: 'UNAVAILABLE', status: 503 }
const unknown = { code: 'DEADLINE_EXCEEDED', status: 504 }
const internal = { code: 'INTERNAL', status: 500 }

/** Errors of PostgreSQL, each a SQLSTATE and perhaps a message, by the error of a write that fails with them. */
const failures: [error: object, failures: string[]][] = [
  [unavailable, '2200H 25006 25P03 25P04 28P01 3D000 40001 40P01 53300 55P03 57014 57P01 58030'.split(' ')],
  [unavailable, ['23505la valeur viole la contrainte unique « animal_1_pkey »']], // of a partition, translated
  [unknown, '08006 08007 40003'.split(' ')],
  [internal, ['P0001', 'XX001', '23505duplicate key value violates unique constraint "animal_tag_key"']],
]

/** Messages of PgBouncer, which all have the SQLSTATE 08P01. */
const poolerFailures: [error: object, failures: string[]][] = [
  [unavailable, ['query_wait_timeout', 'server login has been failing, try again later (server_login_retry)']],
  [unavailable, ['pgbouncer cannot connect to server', 'no more connections allowed (max_client_conn)']],
  [unknown, ['server conn crashed?', 'query timeout', 'another message']],
]

test('a write that PostgreSQL rejects is 503 in both APIs where certainly nothing happened, 504 where that is unknown, else 500 [W17]', async ({
  service,
}) => {
  await service.database.pool.query(`
    CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN RAISE EXCEPTION '%', substr(NEW.name, 6) USING ERRCODE = left(NEW.name, 5); END $$;
    CREATE TRIGGER fail BEFORE INSERT ON animal FOR EACH ROW EXECUTE FUNCTION fail()`)
  const ofPooler = poolerFailures.map(([error, messages]) => [error, messages.map((text) => `08P01${text}`)] as const)
  for (const [error, names] of [...failures, ...ofPooler]) {
    for (const name of names) {
      const outcomes = await Promise.all(Object.values(creations).map((create) => create(service, name)))
      expect(outcomes, name).toMatchObject(outcomes.map(() => error))
    }
  }
  expect(await (await service.send('/v1/pets')).text()).toBe('[]')
})

test.for([
  ['whose WAL cannot be flushed, since the server finds it there when it has started again', { severity: 'PANIC' }],
  ['whose WAL cannot be flushed, in another language', { severity: 'PANIK', file: 'xlog.c' }],
  ['whose host becomes unreachable', { code: 'EHOSTUNREACH' }],
  ['whose TLS fails', { code: 'EPROTO' }],
  ['whose TLS fails in OpenSSL', { code: 'ERR_SSL_DECRYPTION_FAILED_OR_BAD_RECORD_MAC' }],
] as const)('a write on an open connection %s is 504', ([, members]) => {
  const error = Object.assign(new Error('failed'), { code: '58030' }, members)
  expect(toApiError(error, { mayHaveExecuted: true })).toMatchObject(unknown)
})

/** A message of PostgreSQL's protocol. */
function message(type: string, content: string): Buffer {
  const header = Buffer.alloc(5, type)
  header.writeInt32BE(4 + content.length, 1)
  return Buffer.concat([header, Buffer.from(content)])
}

const authenticated = message('R', '\0\0\0\0')
const ready = message('Z', 'I')
const errorOf = (state: string) => message('E', `SFATAL\0C${state}\0Mended\0\0`)

/** What a server does to those who connect; nothing listens if it is undefined. */
const unwelcoming: Record<string, ((socket: Socket) => unknown) | undefined> = {
  'does not listen': undefined,
  'is silent': () => {},
  'resets on the startup message': (socket) => socket.once('data', () => socket.resetAndDestroy()),
  'has no connection left': (socket) => socket.once('data', () => socket.end(errorOf('53300'))),
  'ends a connection in the read in which it begins': (socket) =>
    socket.once('data', () => socket.write(Buffer.concat([authenticated, ready, errorOf('57P01')]))),
}

describe('a request that obtains no connection is 503, in both APIs [W11]', { concurrent: true }, () => {
  testWithSharedService.for(Object.entries(unwelcoming))(
    'since the server %s',
    async ([, welcome], { service, onTestFinished, expect }) => {
      const proxy = await startTcpProxy(service.databaseUrl)
      const peer = await service.startPeer({ DATABASE_URL: proxy.url, limits: { checkoutTimeoutMs: 3_000 } })
      // Caches the key. On a busy machine a first connection may take longer than the checkout timeout.
      await waitUntil(async () => (await peer.send('/v1/pets')).status === 200)
      await proxy.down()
      await waitUntil(() => peer.database.pool.totalCount === 0) // a write on a connection that is ending is 504
      if (welcome) {
        const server = createServer((socket) => welcome(socket.on('error', () => {})))
        onTestFinished(() => void server.close())
        await new Promise<void>((listening) => server.listen(Number(new URL(proxy.url).port), '127.0.0.1', listening))
      }
      const read = peer.send('/v1/pets')
      const writes = Object.entries(creations).map(async ([title, create]) =>
        expect(await create(peer, 'x'), title).toMatchObject(unavailable),
      )
      await Promise.all(writes)
      expect((await read).status).toBe(503)
    },
  )
})
