import pg from 'pg'
import type { Config } from '../config/config.ts'
import { OperatorError } from '../lib/operator-error.ts'
import { useEmbeddedPostgres } from './embedded.ts'
import { reasonOf } from './failures.ts'

export type DatabaseServer = Awaited<ReturnType<typeof resolveDatabaseServer>>

/** The server at `DATABASE_URL`, or the embedded one, which is started if necessary. @param onStop see useEmbeddedPostgres */
export async function resolveDatabaseServer(config: Config, onStop?: () => void) {
  const { DATABASE_URL: url, DATABASE_REPLICA_URLS: replicaUrls = [], DATA_DIR } = config
  for (const replicaUrl of replicaUrls) requireUsable('DATABASE_REPLICA_URLS', replicaUrl)
  if (!url) return { ...(await useEmbeddedPostgres(DATA_DIR, [], onStop)), embedded: true }
  requireUsable('DATABASE_URL', url)
  return { url, embedded: false, release: async () => {} }
}

function requireUsable(variable: string, url: string): void {
  try {
    void new pg.Client({ connectionString: url }) // reads the files that the URL names, and does not connect
  } catch (cause) {
    throw new OperatorError(`Configuration: ${variable} cannot be used: ${reasonOf(cause)}`, { cause })
  }
}
