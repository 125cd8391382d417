import pg from 'pg'
import { databaseUrl, poolSize } from './peer.ts'
import { createSqlStore } from './sql-store.ts'
import type { Animal, Store } from './store.ts'

/** pg sends a statement when the connection has completed the one before. It reads an int64 as text; as a number when `numbers` says so. */
export function createPgStore<Int>({ numbers }: { numbers: boolean }): Store<Int> {
  if (numbers) pg.types.setTypeParser(pg.types.builtins.INT8, Number)
  const pool = new pg.Pool({ connectionString: databaseUrl, max: poolSize })
  return createSqlStore(async (name, text, values) => (await pool.query<Animal<Int>>({ name, text, values })).rows)
}
