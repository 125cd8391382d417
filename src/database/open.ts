import pg from 'pg'
import type { Config } from '../config.ts'
import { OperatorError } from '../operator-error.ts'
import { type EmbeddedPostgres, useEmbeddedPostgres } from './embedded.ts'
import { reasonOf } from './errors.ts'

export type DatabaseServer = EmbeddedPostgres & { embedded: boolean }

/** The server at `DATABASE_URL`, or the embedded one, which is started if necessary. @param onStop see useEmbeddedPostgres */
export async function openDatabaseServer(
  { DATABASE_URL: url, DATA_DIR }: Pick<Config, 'DATABASE_URL' | 'DATA_DIR'>,
  onStop?: () => void,
): Promise<DatabaseServer> {
  if (!url) return { ...(await useEmbeddedPostgres(DATA_DIR, [], onStop)), embedded: true }
  try {
    void new pg.Client({ connectionString: url }) // parses the URL and reads its files, without connecting
  } catch (cause) {
    throw new OperatorError(`Configuration: DATABASE_URL cannot be used: ${reasonOf(cause)}`, { cause })
  }
  return { url, embedded: false, release: async () => {} }
}
