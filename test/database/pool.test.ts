import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { createPool } from '../../src/database/pool.ts'
import { databaseFailure } from '../../src/database/errors.ts'

/** A message of PostgreSQL's protocol. */
function message(type: string, content: Buffer): Buffer {
  const header = Buffer.alloc(5, type)
  header.writeInt32BE(4 + content.length, 1)
  return Buffer.concat([header, content])
}

/** What a server sends to a new connection that it ends at once, such as during a failover. */
const BEGIN_AND_END = Buffer.concat([
  message('R', Buffer.alloc(4)), // authenticated
  message('Z', Buffer.from('I')), // ready
  message('E', Buffer.from('SFATAL\0C57P01\0Mterminating connection due to administrator command\0\0')),
])

test('a connection that ends in the read in which it begins rejects its query, and not the process', async () => {
  const server = createServer((socket) => socket.on('error', () => {}).once('data', () => socket.write(BEGIN_AND_END)))
  onTestFinished(() => void server.close())
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo // TCP
  const timeouts = {
    DATABASE_CHECKOUT_TIMEOUT_MS: 1_000,
    DATABASE_LOCK_TIMEOUT_MS: 1_000,
    DATABASE_STATEMENT_TIMEOUT_MS: 2_000,
    DATABASE_QUERY_TIMEOUT_MS: 3_000,
  }
  const pool = createPool({ url: `postgresql://user@127.0.0.1:${port}/test`, size: 1, timeouts })
  onTestFinished(() => pool.end())
  const failure = pool.withConnection((client) => client.query('SELECT 1')).catch((error: unknown) => error)
  expect(databaseFailure(await failure)).toBe('not-executed')
})
