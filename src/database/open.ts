import pg from 'pg'
import type { Config } from '../config.ts'
import { OperatorError } from '../operator-error.ts'
import { useEmbeddedPostgres } from './embedded.ts'

export interface DatabaseServer {
  url: string
  /** Whether it is the development server in the data folder. */
  embedded: boolean
  /** Releases the server; the embedded one stops when no process uses it any more. */
  release(): Promise<void>
}

/**
 * Opens the configured database: the one at `DATABASE_URL`, or the embedded server, which it starts if necessary.
 * @param onStop see useEmbeddedPostgres
 */
export async function openDatabaseServer(
  { DATABASE_URL: url, DATA_DIR }: Pick<Config, 'DATABASE_URL' | 'DATA_DIR'>,
  onStop?: () => void,
): Promise<DatabaseServer> {
  if (!url) return { ...(await useEmbeddedPostgres(DATA_DIR, [], onStop)), embedded: true }
  requireReadable(url)
  return { url, embedded: false, release: async () => {} }
}

/** Lets pg parse the URL and read its files, without connecting, so that errors are reported at startup. */
function requireReadable(connectionString: string): void {
  try {
    void new pg.Client({ connectionString })
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new OperatorError(`Configuration: DATABASE_URL cannot be used: ${reason}`, { cause })
  }
}
