import type pg from 'pg'
import type { TestService } from './harness.ts'

/** A statement as pg sends it. */
export interface Statement {
  text: string
  values: unknown[]
}

type Callback = (error: Error | undefined, result?: unknown) => void

/** Calls `intercept` for every statement of a service's requests, or of these pools, from now on; it calls `send` and returns the result. */
export function interceptStatements(
  { database }: Pick<TestService, 'database'>,
  intercept: (statement: Statement, send: () => Promise<unknown>) => Promise<unknown>,
  pools: pg.Pool[] = [database.pool, database.countPool],
): void {
  const seen = new WeakSet<pg.PoolClient>()
  const onAcquire = (client: pg.PoolClient) => {
    if (seen.has(client)) return
    seen.add(client)
    const query = client.query.bind(client) as (...args: unknown[]) => Promise<unknown>
    client.query = ((config: pg.QueryConfig | string, values?: unknown[] | Callback, callback?: Callback) => {
      const onResult = typeof values === 'function' ? values : callback
      const parameters = Array.isArray(values) ? values : undefined
      const text = typeof config === 'string' ? config : config.text
      const sentValues = parameters ?? (typeof config === 'string' ? [] : (config.values ?? []))
      const result = intercept({ text, values: sentValues }, () => query(config, parameters))
      if (!onResult) return result
      return void result.then((value) => onResult(undefined, value), onResult)
    }) as never // stands in for all of pg's overloads
  }
  for (const pool of pools) pool.on('acquire', onAcquire)
}

export function recordStatements(service: Pick<TestService, 'database'>): Statement[] {
  const sent: Statement[] = []
  interceptStatements(service, (statement, send) => {
    sent.push(statement)
    return send()
  })
  return sent
}
