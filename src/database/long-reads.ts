import { LRUCache } from 'lru-cache'
import type pg from 'pg'
import { type Pool, toPreparedStatement } from './pool.ts'
import type { RunStatement } from './statements.ts'

/** A read that took longer than this, in milliseconds, is executed after those that did not. */
const SLOW_MS = 100

/** How many slow reads are remembered. */
const MAX_SLOW = 1_000

/**
 * - By an index: by its statistics, PostgreSQL may read the whole table for a value that no row has.
 * - Without parallel workers, which would take the CPU from other statements.
 * - Without JIT, which would compile every execution, for longer than most take.
 *
 * The settings are of the transaction, because a pooler may share the connection.
 */
const BEGIN =
  'BEGIN; SET LOCAL enable_seqscan = off; SET LOCAL max_parallel_workers_per_gather = 0; SET LOCAL jit = off'

/** A read that has not been sent. */
interface Waiter {
  key: string
  query: pg.QueryConfig
  rows: Promise<unknown[]>
  settle(rows: Promise<unknown[]>): void
}

/**
 * Executes reads that may take long, one at a time, and equal ones that wait once. The read that took least the last time
 * is first: however many reads reach the statement timeout, one that is fast waits for one of them.
 * @param pool has one connection; what waits for it longer than the checkout timeout fails
 */
export function createLongReads(pool: Pool): RunStatement {
  /** Oldest first. For each of them a checkout waits, which executes the fastest of all. */
  const waiting = new Map<string, Waiter>()
  /** How long each slow read took the last time. */
  const slowMs = new LRUCache<string, number>({ max: MAX_SLOW })

  const msOf = ({ key }: Waiter) => slowMs.get(key) ?? 0

  function take([first]: Waiter[]): Waiter {
    if (!first) throw new Error('No read waits')
    waiting.delete(first.key)
    return first
  }

  async function executeNext(): Promise<void> {
    let isConnected = false
    try {
      await pool.withConnection((client) => {
        isConnected = true
        const fastest = take([...waiting.values()].sort((a, b) => msOf(a) - msOf(b)))
        const rows = execute(client, fastest)
        fastest.settle(rows)
        return rows
      })
    } catch (error) {
      // The oldest has waited at least as long as this checkout.
      if (!isConnected) take([...waiting.values()]).settle(Promise.reject(error))
    }
  }

  async function execute(client: pg.PoolClient, { key, query }: Waiter): Promise<unknown[]> {
    const sinceMs = performance.now()
    try {
      await client.query(BEGIN)
      const { rows } = await client.query(query)
      await client.query('COMMIT')
      return rows
    } finally {
      const ms = performance.now() - sinceMs
      if (ms > SLOW_MS) slowMs.set(key, ms)
      else slowMs.delete(key)
    }
  }

  function wait(key: string, query: pg.QueryConfig): Waiter {
    let settle: Waiter['settle'] = () => {}
    const rows = new Promise<unknown[]>((resolve) => (settle = resolve))
    const waiter = { key, query, rows, settle }
    waiting.set(key, waiter)
    void executeNext()
    return waiter
  }

  return async <Row>(text: string, values: unknown[]) => {
    const key = `${text} ${values.join()}`
    const { rows } = waiting.get(key) ?? wait(key, toPreparedStatement(text, values))
    return (await rows) as Row[] // as the text selects them
  }
}
