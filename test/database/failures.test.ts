import { createServer, type Socket } from 'node:net'
import pg from 'pg'
import { describe, expect } from 'vitest'
import { toApiError } from '../../src/errors.ts'
import { startTcpProxy } from '../chaos/tcp-proxy.ts'
import { creations } from '../support/creations.ts'
import { testWithService as test, testWithSharedService } from '../support/harness.ts'
import { waitUntil } from '../support/timeouts.ts'

const unavailable = { code: 'UNAVAILABLE', status: 503 }
const unknown = { code: 'DEADLINE_EXCEEDED', status: 504 }
const internal = { code: 'INTERNAL', status: 500 }

/** SQLSTATEs by the error of a write that fails with them. */
const states: [states: string, error: object][] = [
  ['2200H 25006 25P03 25P04 28P01 3D000 40001 40P01 53000 53100 53200 53300 53400 55P03', unavailable],
  ['57014 57P01 57P02 57P03 57P05 58030', unavailable],
  ['08006 08007 40003', unknown],
  ['P0001 22012 XX001', internal],
]

/** Messages of PgBouncer, which all have the SQLSTATE 08P01. */
const poolerMessages: [message: string, error: object][] = [
  ['query_wait_timeout', unavailable],
  ['server login has been failing, try again later (server_login_retry)', unavailable],
  ['pgbouncer cannot connect to server', unavailable],
  ['no more connections allowed (max_client_conn)', unavailable],
  ['server conn crashed?', unknown],
  ['query timeout', unknown],
  ['database removed', unknown],
  ['another message', unknown],
]

test('a write that PostgreSQL rejects is 503 in both APIs where certainly nothing happened, 504 where that is unknown, else 500 [W17]', async ({
  service,
}) => {
  await service.database.pool.query(`
    CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN RAISE EXCEPTION '%', substr(NEW.name, 6) USING ERRCODE = left(NEW.name, 5); END $$;
    CREATE TRIGGER fail BEFORE INSERT ON animal FOR EACH ROW EXECUTE FUNCTION fail()`)
  const failures: [string, object][] = [
    ...states.flatMap(([list, error]) => list.split(' ').map((state) => [state, error] as [string, object])),
    ...poolerMessages.map(([message, error]) => [`08P01${message}`, error] as [string, object]),
    ['23505la valeur viole la contrainte unique « animal_1_pkey »', unavailable], // of a partition, translated
    ['23505duplicate key value violates unique constraint "animal_tag_key"', internal],
  ]
  for (const [failure, error] of failures) {
    for (const [title, create] of Object.entries(creations))
      expect(await create(service, failure), `${failure}, ${title}`).toMatchObject(error)
  }
  expect(await (await service.send('/v1/pets')).text()).toBe('[]')
})

test('a write whose WAL cannot be flushed is 504: the server finds it in the WAL when it has started again', () => {
  for (const panic of [{ severity: 'PANIC' }, { severity: 'PANIK', file: 'xlog.c' }]) {
    for (const code of ['58030', '53100', '42501', 'XX000']) {
      const error = Object.assign(new pg.DatabaseError('could not fsync file', 0, 'error'), { code, ...panic })
      expect(toApiError(error, { mayHaveExecuted: true }), code).toMatchObject(unknown)
    }
  }
})

test('a write on an open connection whose host becomes unreachable, or whose TLS fails, is 504: the network cannot fail like this on one machine', () => {
  const codes = 'ECONNABORTED EHOSTDOWN EHOSTUNREACH ENETDOWN EPROTO ERR_SSL_DECRYPTION_FAILED_OR_BAD_RECORD_MAC'
  for (const code of codes.split(' ')) {
    const error = Object.assign(new Error(`read ${code}`), { code })
    expect(toApiError(error, { mayHaveExecuted: true }), code).toMatchObject(unknown)
  }
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
  'closes immediately': (socket) => socket.end(),
  'resets immediately': (socket) => socket.resetAndDestroy(),
  'closes on the startup message': (socket) => socket.once('data', () => socket.end()),
  'resets on the startup message': (socket) => socket.once('data', () => socket.resetAndDestroy()),
  'has no connection left': (socket) => socket.once('data', () => socket.end(errorOf('53300'))),
  'closes after authentication': (socket) => socket.once('data', () => socket.end(authenticated)),
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
