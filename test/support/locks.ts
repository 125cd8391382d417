import type pg from 'pg'
import { type TestService, withClient } from './harness.ts'

/** Runs `work` while a table is locked, by default against reads and writes. Both parameters of `work` are of the lock. */
export function whileLocked<T>(
  { databaseUrl }: Pick<TestService, 'databaseUrl'>,
  work: (unlock: () => Promise<unknown>, client: pg.Client) => Promise<T>,
  { table = 'animal', mode = 'ACCESS EXCLUSIVE' } = {},
): Promise<T> {
  return withClient(async (client) => {
    await client.query(`BEGIN; LOCK TABLE ${table} IN ${mode} MODE`)
    const unlock = () => client.query('ROLLBACK')
    return work(unlock, client).finally(unlock)
  }, databaseUrl)
}

/** The connections of this database that wait for a lock, with a statement that matches a pattern of LIKE. */
export async function countBlocked(client: Pick<pg.Client, 'query'>, pattern = '%'): Promise<number> {
  await client.query('SELECT pg_stat_clear_snapshot()') // within a transaction, PostgreSQL shows what it has shown first
  const { rowCount } = await client.query(`SELECT FROM pg_stat_activity
    WHERE wait_event_type = 'Lock' AND datname = current_database() AND query LIKE '${pattern}'`)
  return rowCount ?? 0
}
