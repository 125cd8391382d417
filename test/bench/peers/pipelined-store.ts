import postgres from 'postgres'
import { databaseUrl, poolSize } from './peer.ts'
import { createSqlStore } from './sql-store.ts'
import type { Animal, Store } from './store.ts'

/** postgres.js sends a statement at once, behind those that its connection has not completed. */
export function createPipelinedStore(): Store<number> {
  const bigint = { to: 20, from: [20], serialize: String, parse: Number }
  const sql = postgres(databaseUrl, { max: poolSize, fetch_types: false, types: { bigint } })
  return createSqlStore(
    (_name, text, values) =>
      sql.unsafe<Animal<number>[]>(text, values as (string | number | null)[], { prepare: true }), // what the statements take
  )
}
