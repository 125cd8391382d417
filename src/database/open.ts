import pg from 'pg'
import type { Config } from '../config.ts'
import { OperatorError } from '../operator-error.ts'
import { type EmbeddedPostgres, useEmbeddedPostgres } from './embedded.ts'
import { reasonOf } from './errors.ts'

export type DatabaseServer = EmbeddedPostgres & { embedded: boolean }

/** Codes of Node and OpenSSL, and the message of pg, for a failure of TLS. A later attempt would fail in the same way. */
const TLS_FAILURE = /CERT|SIGNATURE|^INVALID_|^EPROTO$|^ERR_(OSSL|SSL|TLS)_|does not support SSL/

/** The server at `DATABASE_URL`, or the embedded one, which is started if necessary. @param onStop see useEmbeddedPostgres */
export async function openDatabaseServer(config: Config, onStop?: () => void): Promise<DatabaseServer> {
  const { DATABASE_URL: url, DATA_DIR, HANDLER_TIMEOUT_MS } = config
  if (!url) return { ...(await useEmbeddedPostgres(DATA_DIR, [], onStop)), embedded: true }
  try {
    const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: HANDLER_TIMEOUT_MS }) // reads the files of the URL
    if (client.ssl) await tryTls(client)
  } catch (cause) {
    throw new OperatorError(`Configuration: DATABASE_URL cannot be used: ${reasonOf(cause)}`, { cause })
  }
  return { url, embedded: false, release: async () => {} }
}

/** Connects once. Ignores a database that is not available, which may be at the next attempt. @throws if TLS fails */
async function tryTls(client: pg.Client): Promise<void> {
  client.on('error', () => {}) // the connection may be lost before it ends
  try {
    await client.connect()
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException // an error of Node or of pg
    if (!TLS_FAILURE.test(code ?? message)) return
    const check = 'Check ssl and the certificate of the server, and the host, sslmode and sslrootcert of the URL.'
    throw new Error(`${message.trim()}. ${check}`, { cause })
  } finally {
    await client.end()
  }
}
