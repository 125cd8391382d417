import { hash } from 'node:crypto'
import pg from 'pg'
import type { DatabaseTimeouts } from '../config/limits.ts'
import { NAMESPACE, SERVICE_NAME } from '../project.ts'
import { reasonOf } from './failures.ts'

export interface PoolOptions {
  url: string
  size: number
  timeouts: DatabaseTimeouts
}

/**
 * After ten idle seconds, TCP probes a connection once a second, at most ten times. The system's default is two hours, in
 * which a host that disappeared looks alive.
 */
export const KEEP_ALIVE = { keepAlive: true, keepAliveInitialDelayMillis: 10_000 }

/** PostgreSQL's function that warns, in a translated text, when a wait for a synchronous standby is cancelled. */
const SYNC_WAIT = 'SyncRepWaitForLSN'

export type ConnectionSource = Pick<Pool, 'withConnection'>

type ConnectCallback = (error: Error | undefined, client: pg.PoolClient | undefined, done: () => void) => void

declare module 'pg' {
  interface Pool {
    // Members of pg-pool 3 that its types lack.
    newClient(waiter: { callback: ConnectCallback }): void
    /** Serves the next one that waits for a connection. */
    _pulseQueue(): void
  }
}

/** pg's pool that also measures the wait for a connection, and reports a failed checkout by the code NOT_CONNECTED. */
export class Pool extends pg.Pool {
  /** When each of the requests that wait for a connection began to wait, oldest first. */
  readonly #waiters = new Set<{ sinceMs: number }>()
  /** Connections that have warned of a commit that may not have been replicated. */
  readonly #unreplicated = new WeakSet<pg.PoolClient>()

  constructor(config: pg.PoolConfig) {
    super(config)
    this.on('connect', (client) => {
      // Without a listener, a lost connection would end the process; its query, or the next one, is rejected anyway. The
      // listener is added here, because a connection may end with its first bytes, before the code that waits for it runs.
      client.on('error', () => {})
      client.on('notice', ({ routine }) => routine === SYNC_WAIT && this.#unreplicated.add(client))
    })
  }

  /** For how long the oldest request has waited for a connection, in milliseconds; 0 if none waits. */
  get longestWaitMs(): number {
    const [oldest] = this.#waiters
    return oldest ? performance.now() - oldest.sinceMs : 0
  }

  /**
   * Runs `work` on a connection. If `work` fails, the connection is closed, because its state is unknown.
   * @throws statement_completion_unknown (40003) after a commit that may be lost in a failover
   */
  async withConnection<T>(work: (client: pg.PoolClient) => Promise<T>): Promise<T> {
    const client = await this.connect()
    this.#unreplicated.delete(client) // of an earlier user, such as Prisma, which does not look at it
    let succeeded = false
    try {
      const result = await work(client)
      if (this.#unreplicated.has(client)) {
        throw Object.assign(new Error('The commit may not have been replicated.'), { code: '40003' })
      }
      succeeded = true
      return result
    } finally {
      client.release(!succeeded)
    }
  }

  /** pg throws if it cannot read a certificate or key that the URL names, and pg-pool does not expect this. */
  override newClient(waiter: { callback: ConnectCallback }): void {
    try {
      super.newClient(waiter)
    } catch (error) {
      waiter.callback(error as Error, undefined, () => {}) // node:fs and node:tls throw only Errors
      process.nextTick(() => this._pulseQueue())
    }
  }

  override connect(): Promise<pg.PoolClient>
  override connect(callback: ConnectCallback): void
  override connect(callback?: ConnectCallback): Promise<pg.PoolClient> | void {
    if (!callback) {
      return new Promise((resolve, reject) =>
        this.connect((error, client) => (client ? resolve(client) : reject(error))),
      )
    }
    const waiter = { sinceMs: performance.now() }
    this.#waiters.add(waiter)
    return super.connect((error, client, done) => {
      this.#waiters.delete(waiter)
      // No statement was sent. Prisma's adapter passes on the message and the code of an error, not its class.
      const lost = error && Object.assign(new Error(reasonOf(error), { cause: error }), { code: 'NOT_CONNECTED' })
      callback(lost, client, done)
    })
  }
}

/** The pool connects when it is first used. */
export function createPool({ url, size, timeouts }: PoolOptions): Pool {
  // pg and Prisma's adapter read dates in the style ISO only, and Prisma's ignores their offset (prisma/orm#28629). A role
  // may have switched off warnings, such as that of SYNC_WAIT.
  const text = "SET DateStyle TO 'ISO'; SET TimeZone TO 'UTC'; SET client_min_messages TO 'warning'"
  const settings = { text, query_timeout: timeouts.checkoutTimeoutMs } // pg-pool's own timeout ends before `onConnect`
  const pool = new Pool({
    connectionString: url,
    max: size,
    connectionTimeoutMillis: timeouts.checkoutTimeoutMs,
    lock_timeout: timeouts.lockTimeoutMs,
    statement_timeout: timeouts.statementTimeoutMs,
    query_timeout: timeouts.queryTimeoutMs,
    ...KEEP_ALIVE,
    application_name: SERVICE_NAME,
    onConnect: async (client) => void (await client.query(settings)),
  })
  return pool.on('error', () => {}) // an idle connection was lost; pg has removed it from the pool
}

/** BIGINT as bigint; all other types as pg reads them. */
const TYPE_PARSERS = {
  getTypeParser: (oid: number): ((text: string) => unknown) =>
    oid === pg.types.builtins.INT8 ? BigInt : pg.types.getTypeParser(oid),
}

/** Names by text. They are hashes, so that a connection shared through a pooler never runs another client's statement. */
const statementNames = new Map<string, string>()

/** A statement that is prepared once per connection. */
export function toPreparedStatement(text: string, values: unknown[]): pg.QueryConfig {
  const name = statementNames.get(text) ?? `${NAMESPACE}_${hash('sha256', text).slice(0, 32)}`
  statementNames.set(text, name)
  return { name, text, values, types: TYPE_PARSERS as pg.CustomTypesConfig } // pg's type wants any
}
