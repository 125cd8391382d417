import { useEmbeddedPostgres } from './embedded.ts'

export interface DatabaseServer {
  url: string
  /** Whether it is the development server in the data folder. */
  embedded: boolean
  /** Lets go of the server; the embedded one stops when nobody uses it any more. */
  leave(): Promise<void>
}

/** The database that the configuration means: the one at `DATABASE_URL`, or the embedded one, started if need be. */
export async function locateDatabase(config: {
  databaseUrl: string | undefined
  dataDir: string
}): Promise<DatabaseServer> {
  if (config.databaseUrl) return { url: config.databaseUrl, embedded: false, leave: async () => {} }
  return { ...(await useEmbeddedPostgres(config.dataDir)), embedded: true }
}
