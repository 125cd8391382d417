import { type DestinationStream, type Logger, pino } from 'pino'
import type { Config } from '../config.ts'
import { version } from '../project.ts'

/** How long a line may wait to be written, in milliseconds. SIGKILL loses what is not written yet. */
const FLUSH_INTERVAL_MS = 10

/** Lines that wait are written at once when they have this many bytes. */
const BUFFER_BYTES = 4_096

export function createLogger(level: Config['LOG_LEVEL'], stream: DestinationStream = bufferedStdout()): Logger {
  const hooks = { streamWrite: redactKeys }
  return pino({ level, base: { pid: process.pid, version }, timestamp: pino.stdTimeFunctions.isoTime, hooks }, stream)
}

/** The most keys that have lines of their own at a time: clients choose some of them. */
const MAX_KEYS = 1_000

/**
 * For what may fail again and again: the first time is logged at once, then at most one line in each interval, with the
 * latest message and details, and the number of times.
 * @returns logs a line of this level. Each key has lines of its own
 */
export function createThrottledLog(log: Logger, intervalMs: number, level: 'warn' | 'info' = 'warn') {
  /** By key: what has happened since its last line. */
  const repeats = new Map<string, { message: string; details: object; count: number }>()

  function write(message: string, details: object, key: string, count: number): void {
    log[level]({ ...details, count }, message)
    const repeated = { message, details, count: 0 }
    repeats.set(key, repeated)
    setTimeout(() => {
      repeats.delete(key)
      if (repeated.count) write(repeated.message, repeated.details, key, repeated.count)
    }, intervalMs).unref()
  }

  return (message: string, details: object, ownKey = message): void => {
    const key = repeats.size < MAX_KEYS || repeats.has(ownKey) ? ownKey : 'other'
    const repeated = repeats.get(key)
    if (repeated) Object.assign(repeated, { message, details, count: repeated.count + 1 })
    else write(message, details, key, 1)
  }
}

/** Reduces every API key in a text to its prefix. */
export function redactKeys(text: string): string {
  return text.replace(/(pets_[0-9a-z]{8})[0-9a-z]{20,}/gi, '$1…')
}

/** Batches lines: one write per request cost 12 % of CPU. An exit flushes them, even after an exception. */
function bufferedStdout(): DestinationStream {
  const options = { dest: 1, sync: true, minLength: BUFFER_BYTES, periodicFlush: FLUSH_INTERVAL_MS }
  const stream = pino.destination(options)
  process.once('exit', () => stream.flushSync())
  return stream
}
