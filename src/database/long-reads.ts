import type pg from 'pg'
import { type ConnectionSource, toPreparedStatement } from './pool.ts'
import type { RunStatement } from './statements.ts'

/**
 * Long reads are executed
 * - by an index: statistics may lead PostgreSQL to read the whole table for a value that no row has;
 * - without parallel workers, which would take the CPU from other statements;
 * - without JIT, which would compile at every execution, for longer than most executions take.
 *
 * The settings end with the transaction, because a pooler may share the connection.
 */
const BEGIN =
  'BEGIN; SET LOCAL enable_seqscan = off; SET LOCAL max_parallel_workers_per_gather = 0; SET LOCAL jit = off'

/**
 * Executes reads that may take long. Equal reads that wait for a connection are executed once.
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
    // Removes a read that got no connection. After another error, the key may be that of an equal read that began later.
    rows.catch(() => waiting.get(key) === rows && waiting.delete(key))
    return rows
  }

  return async <Row>(text: string, values: unknown[]) => {
    const key = JSON.stringify([text, ...values.map(String)])
    const rows = await (waiting.get(key) ?? read(key, toPreparedStatement(text, values)))
    return rows as Row[] // the caller names what the text selects
  }
}
