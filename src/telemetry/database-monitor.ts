import type { Logger } from 'pino'
import { reasonOf } from '../database/errors.ts'

/** How often a database that cannot be used is tried again, in milliseconds. */
const RETRY_MS = 1_000

export interface DatabaseMonitor {
  /** Tries the database, unless it is being tried already. Call it when the database may not be available. */
  check(): void
  stop(): void
}

/**
 * Tells in the log when the database cannot be used, why, and when it can be used again: one line each.
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
  let since = 0
  let trying = false
  let timer: NodeJS.Timeout | undefined
  let stopped = false

  async function tryDatabase(): Promise<void> {
    const found = await findProblem(pendingMigrations)
    trying = false
    if (stopped) return
    if (found && !problem) {
      since = performance.now()
      log.warn({ host, reason: found }, 'the database cannot be used')
    }
    if (!found && problem) {
      log.warn({ host, seconds: Math.round((performance.now() - since) / 1_000) }, 'the database can be used again')
    }
    problem = found
    if (problem) timer = setTimeout(check, RETRY_MS).unref()
  }

  function check(): void {
    if (trying || stopped) return
    clearTimeout(timer)
    trying = true
    void tryDatabase()
  }

  return {
    check,
    stop() {
      stopped = true
      clearTimeout(timer)
    },
  }
}

/** @returns why the database cannot be used; undefined when it can */
async function findProblem(pendingMigrations: () => Promise<string[]>): Promise<string | undefined> {
  try {
    const { length } = await pendingMigrations()
    return length ? `the schema lacks ${length} migration(s): npm run migrate -- deploy` : undefined
  } catch (error) {
    return reasonOf(error)
  }
}
