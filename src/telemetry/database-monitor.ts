import type { Logger } from 'pino'
import type { Config } from '../config.ts'
import { reasonOf } from '../database/errors.ts'
import type { DatabaseState } from '../database/readiness.ts'

/** The time between two checks of the database, in milliseconds: an outage fails every request. */
const INTERVAL_MS = 1_000

interface MonitorOptions {
  log: Logger
  /** Only its host is logged. */
  databaseUrl: string
  /** The limits that every connection must have: a pooler may have ignored those with which connections are opened. */
  config: Pick<Config, 'DATABASE_LOCK_TIMEOUT_MS' | 'DATABASE_STATEMENT_TIMEOUT_MS'>
}

/**
 * Logs when the database becomes unavailable, the reason, and when it is available again; also settings that break a
 * promise. Checks it in each INTERVAL_MS while it is unavailable, and otherwise only after a call of `check`.
 * @param readState rejects when the database is not available
 */
export function createDatabaseMonitor(options: MonitorOptions, readState: () => Promise<DatabaseState>) {
  const { log, databaseUrl, config } = options
  const { host } = new URL(databaseUrl)
  let problem: string | undefined
  const settings = new Map<string, string | undefined>()
  let unavailableSince = 0
  let requested = false
  let stopped = false

  function recordProblem(found: string | undefined): void {
    if (found && !problem) unavailableSince = performance.now()
    if (found && found !== problem) log.warn({ host, reason: found }, 'database unavailable')
    if (!found && problem) {
      const seconds = Math.round((performance.now() - unavailableSince) / 1_000)
      log.warn({ host, seconds }, 'database available again')
    }
    problem = found
  }

  function recordSetting(message: string, reason: string | undefined): void {
    if (reason && reason !== settings.get(message)) log.warn({ host, reason }, message)
    settings.set(message, reason)
  }

  /** Logs settings that are wrong, once for each reason. */
  function checkSettings(state: DatabaseState): void {
    recordSetting('connections lack their limits', limitsProblemOf(state, config))
    recordSetting('acknowledged writes can be lost', durabilityProblemOf(state))
  }

  async function poll(): Promise<void> {
    if (requested || problem) {
      requested = false
      const state = await readState().catch((error: unknown) => ({ problem: reasonOf(error) }))
      if (stopped) return
      recordProblem(state.problem)
      if (!problem && 'lockMs' in state) checkSettings(state)
    }
    schedule()
  }

  let timer: NodeJS.Timeout
  const schedule = () => (timer = setTimeout(() => void poll(), INTERVAL_MS).unref())
  schedule()
  return {
    checkSettings,
    /** Checks the database soon. Call it whenever the database may not be available. */
    check: () => void (requested = true),
    stop(): void {
      stopped = true
      clearTimeout(timer)
    },
  }
}

function limitsProblemOf({ lockMs, statementMs }: DatabaseState, config: MonitorOptions['config']): string | undefined {
  const { DATABASE_LOCK_TIMEOUT_MS: lock, DATABASE_STATEMENT_TIMEOUT_MS: statement } = config
  if (lockMs === lock && statementMs === statement) return undefined
  return `lock_timeout ${lockMs} ms and statement_timeout ${statementMs} ms, not ${lock} and ${statement} ms: set them on the role`
}

function durabilityProblemOf({ notDurable }: DatabaseState): string | undefined {
  return notDurable.length ? `${notDurable.join(', ')} off: set them on, or a crash can undo a 201` : undefined
}
