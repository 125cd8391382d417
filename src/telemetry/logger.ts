import { type DestinationStream, type Logger, pino } from 'pino'
import type { Config } from '../config.ts'
import { version } from '../project.ts'

/** How long a line may wait to be written, in milliseconds. SIGKILL loses what is not written yet. */
const FLUSH_INTERVAL_MS = 10

/** Linux writes up to this many bytes to a pipe atomically (pipe(7)): lines of workers that share the pipe stay whole. */
const PIPE_BUF = 4_096

/** JSON lines, to stdout by default. */
export function createLogger(level: Config['LOG_LEVEL'], stream: DestinationStream = bufferedStdout()): Logger {
  const hooks = { streamWrite: redactKeys }
  return pino({ level, base: { pid: process.pid, version }, timestamp: pino.stdTimeFunctions.isoTime, hooks }, stream)
}

/** Colored lines on the terminal of a developer; undefined otherwise. */
export async function prettyStream({ NODE_ENV }: Config): Promise<DestinationStream | undefined> {
  if (NODE_ENV === 'production' || !process.stdout.isTTY) return undefined
  const { default: pretty } = await import('pino-pretty') // not installed in production
  return pretty({ sync: true, singleLine: true, ignore: 'pid,version', translateTime: 'SYS:HH:MM:ss.l' })
}

/**
 * For what may fail again and again: the first time is logged at once, then at most one line in each interval.
 * @returns logs a warning with the details of the last time, and the number of times since the last line
 */
export function throttledWarning(log: Logger, message: string, intervalMs: number): (details: object) => void {
  let latest = {}
  let count = 0
  let timer: NodeJS.Timeout | undefined

  function write(): void {
    timer = undefined
    if (count === 0) return
    log.warn({ ...latest, count }, message)
    count = 0
    timer = setTimeout(write, intervalMs).unref()
  }
  return (details) => {
    latest = details
    count += 1
    if (!timer) write()
  }
}

/**
 * throttledWarning for each key, of which there must be few: one does not hide another.
 * @returns logs a warning with these details; its message is the key by default
 */
export function throttledWarnings(log: Logger, intervalMs: number) {
  const warnings = new Map<string, (details: object) => void>()
  return (message: string, details: object, key = message): void => {
    const warn = warnings.get(key) ?? throttledWarning(log, message, intervalMs)
    warnings.set(key, warn)
    warn(details)
  }
}

/** Reduces every API key in a text to its prefix. */
export function redactKeys(text: string): string {
  return text.replace(/(pets_[0-9a-z]{8})[0-9a-z]{20,}/gi, '$1…')
}

/** Batches lines: one write per request cost 12 % of CPU. Flushes when the process exits, also after an exception. */
function bufferedStdout(): DestinationStream {
  const stream = pino.destination({
    dest: 1,
    sync: true,
    minLength: PIPE_BUF - 1,
    maxWrite: PIPE_BUF,
    periodicFlush: FLUSH_INTERVAL_MS,
  })
  process.once('exit', () => stream.flushSync())
  return stream
}
