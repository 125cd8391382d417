import type pg from 'pg'
import { setTimeout as sleep } from 'node:timers/promises'
import { Batcher } from './batcher.ts'
import { hasCode } from './failures.ts'
import { type ConnectionSource, toPreparedStatement } from './pool.ts'
import type { Replicas } from './replicas.ts'

interface BatchStatement<Input, Row, Output> {
  text: string
  onReplicas?: boolean
  maxSize?: number
  /** Begins a transaction for the statement. Its settings end with it, because a pooler may share the connection. */
  begin?: string
  toValues(inputs: Input[]): unknown[]
  /** @returns an output for each input, in the same order */
  toOutputs(rows: Row[], inputs: Input[]): Output[]
}

export type Statements = ReturnType<typeof createStatements>

/** Maximum delay of a retry, in milliseconds: transactions that failed together should not meet again. */
const RETRY_JITTER_MS = 20

/**
 * Executes one prepared statement, once for equal reads that wait for a connection. Without a connection, all of them fail.
 * @param begin as of BatchStatement
 * @returns its rows; the caller names their type
 */
export type ReadRows = <Row>(text: string, values: unknown[], begin?: string) => Promise<Row[]>

/**
 * Executes statements that are prepared once per connection, which takes a tenth to half of the CPU time of the same
 * operation through Prisma (decision 6). Values are parameters, so there are few texts, and PostgreSQL's generic plan fits
 * every execution.
 */
export function createStatements(pool: ConnectionSource, replicas?: Replicas) {
  const waitingCounts: (() => number)[] = []
  /** The rows of each read that waits for a connection, by its text and values. */
  const waiting = new Map<string, Promise<unknown[]>>()

  return {
    async readRows<Row>(text: string, values: unknown[], begin?: string): Promise<Row[]> {
      const key = JSON.stringify([begin, text, ...values.map(String)])
      const execute = (client: pg.PoolClient) => {
        waiting.delete(key)
        return send(client, text, values, begin)
      }
      const rows = waiting.get(key) ?? Promise.resolve().then(() => retryOnce(() => pool.withConnection(execute)))
      waiting.set(key, rows) // before the read begins
      // Removes a read that got no connection. After another error, the key may be that of an equal read that began later.
      rows.catch(() => waiting.get(key) === rows && waiting.delete(key))
      return (await rows) as Row[] // as the caller says
    },
    /** @returns a function that executes the statement once for all of its callers that wait, see Batcher */
    batch<Input, Row, Output>(statement: BatchStatement<Input, Row, Output>) {
      const { text, onReplicas, maxSize, begin, toValues, toOutputs } = statement
      const batcher = new Batcher<Input, Output>(async (take) => {
        let inputs: Input[] | undefined
        const execute = (client: pg.PoolClient) => send<Row>(client, text, toValues((inputs ??= take())), begin)
        if (onReplicas && replicas?.isAvailable()) {
          inputs = take() // before the positions are read, which may be older than an input that arrives later
          const rows = await replicas.tryRead(execute)
          if (rows) return toOutputs(rows, inputs)
        }
        const rows = await retryOnce(() => pool.withConnection(execute))
        return toOutputs(rows, inputs ?? [])
      }, maxSize)
      waitingCounts.push(() => batcher.waitingCount)
      return (input: Input) => batcher.execute(input)
    },
    /** How many callers wait for a statement, less one for each batch, which the pool's queue counts. */
    waitingCount: () => waitingCounts.reduce((sum, count) => sum + count(), 0),
  }
}

async function send<Row>(client: pg.PoolClient, text: string, values: unknown[], begin?: string): Promise<Row[]> {
  if (begin) await client.query(begin)
  const { rows } = await client.query<never>(toPreparedStatement(text, values))
  if (begin) await client.query('COMMIT')
  return rows
}

/**
 * Executes a single statement, and once more after a serialization failure or a deadlock: PostgreSQL has then certainly
 * rolled back the statement, even if it writes.
 */
async function retryOnce<T>(execute: () => Promise<T>): Promise<T> {
  try {
    return await execute()
  } catch (error) {
    if (!hasCode(error, '40001', '40P01')) throw error
    await sleep(Math.random() * RETRY_JITTER_MS)
    return execute()
  }
}
