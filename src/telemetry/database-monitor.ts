import type { Logger } from 'pino'
import type { Config } from '../config.ts'
import { reasonOf } from '../database/errors.ts'
import type { DatabaseState } from '../database/readiness.ts'

/** The least time between two checks of the database, in milliseconds: an outage fails every request. */
const INTERVAL_MS = 1_000

interface MonitorOptions {
  log: Logger
  databaseUrl: string
  config: Pick<Config, 'DATABASE_LOCK_TIMEOUT_MS' | 'DATABASE_STATEMENT_TIMEOUT_MS'>
}

export interface DatabaseMonitor {
  /** Checks the database soon. Call it whenever the database may not be available. */
  check(): void
  stop(): void
}

/**
 * Logs when the database becomes unavailable, the reason, and when it is available again; also if connections do not have
 * the configured limits. Checks it once in each
 * INTERVAL_MS while it is unavailable, and otherwise only when `check` is called.
 * @param options.databaseUrl only its host is logged
 * @param options.config the limits that every connection must have
 * @param readState rejects when the database is not available
 */
export function createDatabaseMonitor(
  { log, databaseUrl, config }: MonitorOptions,
  readState: () => Promise<DatabaseState>,
): DatabaseMonitor {
  const { host } = new URL(databaseUrl)
  const checkLimits = createLimitsCheck(log, host, config)
  let problem: string | undefined
  let unavailableSince = 0
  /** Whether `check` was called since the last check began. */
  let requested = false
  let running = false
  let stopped = false
  let timer: NodeJS.Timeout | undefined

  function record(found: string | undefined): void {
    if (found && !problem) unavailableSince = performance.now()
    if (found && found !== problem) log.warn({ host, reason: found }, 'database unavailable')
    if (!found && problem) {
      const seconds = Math.round((performance.now() - unavailableSince) / 1_000)
      log.warn({ host, seconds }, 'database available again')
    }
    problem = found
  }

  async function run(): Promise<void> {
    running = true
    requested = false
    const found = await findProblem(readState, checkLimits)
    if (stopped) return
    record(found)
    timer = setTimeout(() => {
      running = false
      if (problem || requested) void run()
    }, INTERVAL_MS).unref()
  }

  return {
    check() {
      requested = true
      if (!running && !stopped) void run()
    },
    stop() {
      stopped = true
      clearTimeout(timer)
    },
  }
}

/**
 * Warns once of limits that are not the configured ones: a pooler may have ignored those with which connections are opened.
 * The database is available all the same.
 */
function createLimitsCheck(
  log: Logger,
  host: string,
  config: MonitorOptions['config'],
): (state: DatabaseState) => void {
  const { DATABASE_LOCK_TIMEOUT_MS, DATABASE_STATEMENT_TIMEOUT_MS } = config
  let warnedOf: string | undefined
  return ({ lockMs, statementMs }) => {
    const isDifferent = lockMs !== DATABASE_LOCK_TIMEOUT_MS || statementMs !== DATABASE_STATEMENT_TIMEOUT_MS
    const found = isDifferent ? `lock_timeout ${lockMs} ms and statement_timeout ${statementMs} ms` : undefined
    if (found && found !== warnedOf) {
      const limits = `${DATABASE_LOCK_TIMEOUT_MS} and ${DATABASE_STATEMENT_TIMEOUT_MS} ms`
      const reason = `${found}, not ${limits}: set them on the role`
      log.warn({ host, reason }, 'connections lack their limits')
    }
    warnedOf = found
  }
}

/** @returns why the database is unavailable; undefined when it is available */
async function findProblem(
  readState: () => Promise<DatabaseState>,
  onAvailable: (state: DatabaseState) => void,
): Promise<string | undefined> {
  try {
    const found = await readState()
    if (found.readOnly) return 'it is read-only: DATABASE_URL must lead to the primary'
    if (found.pending.length) return `the schema lacks ${found.pending.length} migration(s): npm run migrate -- deploy`
    onAvailable(found)
    return undefined
  } catch (error) {
    return reasonOf(error)
  }
}
