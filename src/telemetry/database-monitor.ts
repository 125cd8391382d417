import type { Logger } from 'pino'
import { reasonOf } from '../database/errors.ts'
import type { DatabaseState } from '../database/readiness.ts'

/** The least time between two checks of the database, in milliseconds: an outage fails every request. */
const INTERVAL_MS = 1_000

interface Limits {
  lockMs: number
  statementMs: number
}

interface MonitorOptions {
  log: Logger
  databaseUrl: string
  timeouts: Limits
}

export interface DatabaseMonitor {
  /** Checks the database soon. Call it whenever the database may not be available. */
  check(): void
  stop(): void
}

/**
 * Logs when the database becomes unavailable, the reason, and when it is available again. Checks it once in each
 * INTERVAL_MS while it is unavailable, and otherwise only when `check` is called.
 * @param options.databaseUrl only its host is logged
 * @param options.timeouts limits that every connection must have, in milliseconds
 * @param readState rejects when the database is not available
 */
export function createDatabaseMonitor(
  { log, databaseUrl, timeouts }: MonitorOptions,
  readState: () => Promise<DatabaseState>,
): DatabaseMonitor {
  const { host } = new URL(databaseUrl)
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
    const found = await findProblem(readState, timeouts)
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

/** @returns what is wrong with the database; undefined when nothing is */
async function findProblem(
  readState: () => Promise<DatabaseState>,
  { lockMs, statementMs }: Limits,
): Promise<string | undefined> {
  try {
    const found = await readState()
    if (found.readOnly) return 'it is read-only: DATABASE_URL must lead to the primary'
    if (found.pending.length) return `the schema lacks ${found.pending.length} migration(s): npm run migrate -- deploy`
    if (found.lockMs === lockMs && found.statementMs === statementMs) return undefined
    const limits = `lock_timeout ${found.lockMs} ms and statement_timeout ${found.statementMs} ms`
    return `a pooler gives connections ${limits}, not ${lockMs} and ${statementMs}: set them on the role`
  } catch (error) {
    return reasonOf(error)
  }
}
