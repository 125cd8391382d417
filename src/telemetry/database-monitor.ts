import type { Logger } from 'pino'
import { reasonOf } from '../database/failures.ts'
import type { DatabaseState } from '../database/readiness.ts'

interface MonitorOptions {
  log: Logger
  /** Only its host is logged. */
  databaseUrl: string
  isStopping: () => boolean
  /** Rejects when the database is not available. */
  readState: () => Promise<DatabaseState>
}

/**
 * @returns reads why the database cannot serve requests, as `/readyz` responds it, and logs each change with its reason;
 *   also settings that break a promise. It rejects when the database is not available
 */
export function createDatabaseMonitor({ log, databaseUrl, isStopping, readState }: MonitorOptions) {
  const { host } = new URL(databaseUrl)
  let problem: string | undefined
  let notDurable = ''
  let unavailableSinceMs = 0

  function record(found: string | undefined): void {
    if (found === problem || isStopping()) return
    if (!problem) unavailableSinceMs = performance.now()
    const seconds = Math.round((performance.now() - unavailableSinceMs) / 1_000)
    if (found) log.warn({ host, reason: found }, 'database unavailable')
    else log.warn({ host, seconds }, 'database available again')
    problem = found
  }

  function recordSettings(names: string): void {
    const reason = `${names} off: set them on, or a crash can undo a 201`
    if (names && names !== notDurable) log.warn({ host, reason }, 'acknowledged writes can be lost')
    notDurable = names
  }

  return async (): Promise<string | undefined> => {
    try {
      const state = await readState()
      record(state.problem)
      recordSettings(state.notDurable.join(', '))
      return state.problem
    } catch (error) {
      record(reasonOf(error))
      throw error
    }
  }
}
