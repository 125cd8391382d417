import type { Logger } from 'pino'
import { reasonOf } from '../database/errors.ts'

/** The least time between two checks of the database, in milliseconds: an outage fails every request. */
const INTERVAL_MS = 1_000

export interface DatabaseMonitor {
  /** Checks the database soon. Call it whenever the database may not be available. */
  check(): void
  stop(): void
}

/**
 * Logs when the database becomes unavailable, the reason, and when it is available again. Checks it once in each
 * INTERVAL_MS while it is unavailable, and otherwise only when `check` is called.
 * @param databaseUrl only its host is logged
 * @param pendingMigrations rejects when the database is not available
 */
export function createDatabaseMonitor(
  log: Logger,
  databaseUrl: string,
  pendingMigrations: () => Promise<string[]>,
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
    const found = await findProblem(pendingMigrations)
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

/** @returns why the database is unavailable; undefined when it is available */
async function findProblem(pendingMigrations: () => Promise<string[]>): Promise<string | undefined> {
  try {
    const { length } = await pendingMigrations()
    return length ? `the schema lacks ${length} migration(s): npm run migrate -- deploy` : undefined
  } catch (error) {
    return reasonOf(error)
  }
}
