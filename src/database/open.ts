import pg from 'pg'
import { useEmbeddedPostgres } from './embedded.ts'

/** `DATABASE_URL` names what cannot be read, such as a certificate; the message is one line. */
export class DatabaseUrlError extends Error {}

export interface DatabaseServer {
  url: string
  /** Whether it is the development server in the data folder. */
  embedded: boolean
  /** Lets go of the server; the embedded one stops when nobody uses it any more. */
  leave(): Promise<void>
}

/** The database that the configuration means: the one at `DATABASE_URL`, or the embedded one, started if need be. */
export async function openDatabaseServer(config: {
  databaseUrl: string | undefined
  dataDir: string
}): Promise<DatabaseServer> {
  if (config.databaseUrl) requireReadable(config.databaseUrl)
  if (config.databaseUrl) return { url: config.databaseUrl, embedded: false, leave: async () => {} }
  return { ...(await useEmbeddedPostgres(config.dataDir)), embedded: true }
}

/** Has pg read the URL and the files that it names, which it would do for each connection; connects to nothing. */
function requireReadable(connectionString: string): pg.Client {
  try {
    return new pg.Client({ connectionString })
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new DatabaseUrlError(`DATABASE_URL cannot be used: ${reason}`, { cause })
  }
}
