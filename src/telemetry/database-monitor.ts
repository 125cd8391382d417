import type { Logger } from 'pino'
import type { Config } from '../config.ts'
import { reasonOf } from '../database/errors.ts'
import type { DatabaseState } from '../database/readiness.ts'

/** The least time between two checks of the database, in milliseconds: an outage fails every request. */
const INTERVAL_MS = 1_000

interface MonitorOptions {
  log: Logger
  /** Only its host is logged. */
  databaseUrl: string
  /** The limits that every connection must have: a pooler may have ignored those with which connections are opened. */
  config: Pick<Config, 'DATABASE_LOCK_TIMEOUT_MS' | 'DATABASE_STATEMENT_TIMEOUT_MS'>
}

/**
 * Logs when the database becomes unavailable, the reason, and when it is available again; also if connections lack their
 * limits. Checks it in each INTERVAL_MS while it is unavailable, and otherwise only when `check` is called.
 * @param readState rejects when the database is not available
 */
export function createDatabaseMonitor(options: MonitorOptions, readState: () => Promise<DatabaseState>) {
  const { log, databaseUrl, config } = options
  const { host } = new URL(databaseUrl)
  let problem: string | undefined
  let limitsProblem: string | undefined
  let unavailableSince = 0
  /** Whether `check` was called since the last check began. */
  let requested = false
  let running = false
  let stopped = false
  let timer: NodeJS.Timeout | undefined

  function recordProblem(found: string | undefined): void {
    if (found && !problem) unavailableSince = performance.now()
    if (found && found !== problem) log.warn({ host, reason: found }, 'database unavailable')
    if (!found && problem) {
      const seconds = Math.round((performance.now() - unavailableSince) / 1_000)
      log.warn({ host, seconds }, 'database available again')
    }
    problem = found
  }

  function recordLimitsProblem(found: string | undefined): void {
    if (found && found !== limitsProblem) log.warn({ host, reason: found }, 'connections lack their limits')
    limitsProblem = found
  }

  async function run(): Promise<void> {
    running = true
    requested = false
    const state = await readState().catch((error: unknown) => reasonOf(error))
    if (stopped) return
    const found = typeof state === 'string' ? state : problemOf(state)
    if (typeof state !== 'string' && !found) recordLimitsProblem(limitsProblemOf(state, config))
    recordProblem(found)
    timer = setTimeout(() => {
      running = false
      if (problem || requested) void run()
    }, INTERVAL_MS).unref()
  }

  return {
    /** Checks the database soon. Call it whenever the database may not be available. */
    check(): void {
      requested = true
      if (!running && !stopped) void run()
    },
    stop(): void {
      stopped = true
      clearTimeout(timer)
    },
  }
}

function problemOf({ readOnly, pending }: DatabaseState): string | undefined {
  if (readOnly) return 'it is read-only: DATABASE_URL must lead to the primary'
  return pending.length ? `the schema lacks ${pending.length} migration(s): npm run migrate -- deploy` : undefined
}

function limitsProblemOf({ lockMs, statementMs }: DatabaseState, config: MonitorOptions['config']): string | undefined {
  const { DATABASE_LOCK_TIMEOUT_MS: lock, DATABASE_STATEMENT_TIMEOUT_MS: statement } = config
  if (lockMs === lock && statementMs === statement) return undefined
  return `lock_timeout ${lockMs} ms and statement_timeout ${statementMs} ms, not ${lock} and ${statement} ms: set them on the role`
}
