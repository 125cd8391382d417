import type pg from 'pg'
import { type ConnectionSource, toPreparedStatement } from './pool.ts'
import type { RunStatement } from './statements.ts'

/**
 * - By an index: by its statistics, PostgreSQL may read the whole table for a value that no row has.
 * - Without parallel workers, which would take the CPU from other statements.
 * - Without JIT, which would compile every execution, for longer than most take.
 *
 * The settings are of the transaction, because a pooler may share the connection.
 */
const BEGIN =
  'BEGIN; SET LOCAL enable_seqscan = off; SET LOCAL max_parallel_workers_per_gather = 0; SET LOCAL jit = off'

/**
 * Executes reads that may take long, and equal ones that wait for a connection once.
 * @param pool its size is the number of reads that are executed at the same time
 */
export function createLongReads(pool: ConnectionSource): RunStatement {
  /** The rows of each read that waits for a connection, by its text and values. */
  const waiting = new Map<string, Promise<unknown[]>>()

  function read(key: string, query: pg.QueryConfig): Promise<unknown[]> {
    const rows = pool.withConnection(async (client) => {
      waiting.delete(key)
      await client.query(BEGIN)
      const result = await client.query(query)
      await client.query('COMMIT')
      return result.rows
    })
    waiting.set(key, rows)
    // A read that got no connection is not removed above. An equal one that began later may wait by then.
    rows.catch(() => waiting.get(key) === rows && waiting.delete(key))
    return rows
  }

  return async <Row>(text: string, values: unknown[]) => {
    const key = JSON.stringify([text, ...values.map(String)])
    const rows = await (waiting.get(key) ?? read(key, toPreparedStatement(text, values)))
    return rows as Row[] // the caller names what the text selects
  }
}
