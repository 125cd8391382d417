import fs from 'node:fs'
import { type DestinationStream, type Logger, pino } from 'pino'
import type { Config } from '../config/config.ts'
import { KEY_PREFIX, VERSION } from '../project.ts'

/** How long a line may wait to be written, in milliseconds. SIGKILL loses what is not written yet. */
const FLUSH_INTERVAL_MS = 10

/** Lines that wait are written at once when they have this many characters. */
const BUFFER_LENGTH = 16_384

/** Further lines are dropped while so many bytes wait for the reader of stdout. */
const MAX_WAITING_BYTES = 1_048_576

/** How many times an exit waits for a reader that takes nothing, each for FLUSH_INTERVAL_MS. */
const EXIT_WAITS = 100

export function createLogger(level: Config['LOG_LEVEL'], stream: DestinationStream = bufferedStdout()): Logger {
  return pino({ level, base: { pid: process.pid, version: VERSION }, timestamp: pino.stdTimeFunctions.isoTime }, stream)
}

/** At most so many keys have lines of their own at a time, since clients choose some keys. Further keys share lines. */
const MAX_KEYS = 1_000

/**
 * Logs what may fail again and again: the first time at once, then at most one line in each interval, with the latest
 * message and details, and the number of times.
 * @returns a function that logs a line of this level. Each key has lines of its own
 */
export function createThrottledLog(log: Logger, intervalMs: number, level: 'warn' | 'info' = 'warn') {
  /** What has happened since the last line of a key, by key. */
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

const KEY = new RegExp(`(${KEY_PREFIX}[0-9a-z]{8})[0-9a-z]{20,}`, 'gi')

/** Maximum length of a name that a client has chosen, in characters. */
const MAX_NAME_LENGTH = 100

/** Reduces every API key in a text to its prefix. */
export function redactKeys(text: string): string {
  return text.replace(KEY, '$1…')
}

/** A name that a client has chosen. API keys are redacted before the name is cut: a part of a key would not be found. */
export function toLoggedName(name: string): string {
  return redactKeys(name).slice(0, MAX_NAME_LENGTH)
}

/**
 * Batches lines, and redacts API keys in them: one write per request cost 12 % of CPU. An exit writes the rest, even after
 * an exception. Lines are lost if the reader of stdout has gone, if the disk is full, or if MAX_WAITING_BYTES wait for a
 * reader that takes nothing. With pino's own destination (sonic-boom 4.2.1, November 2026), a process whose reader has gone
 * never exits.
 */
function bufferedStdout(): DestinationStream {
  let lines = ''
  /** What stdout has not taken of earlier lines. */
  let rest = Buffer.alloc(0)
  let timer: NodeJS.Timeout | undefined
  const flushLater = () => (timer ??= setTimeout(flush, FLUSH_INTERVAL_MS).unref())

  function flush(): void {
    clearTimeout(timer)
    timer = undefined
    if (lines) rest = Buffer.concat([rest, Buffer.from(redactKeys(lines))])
    lines = ''
    try {
      while (rest.length) rest = rest.subarray(fs.writeSync(1, rest))
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EAGAIN') flushLater()
      else rest = Buffer.alloc(0)
    }
  }

  process.once('exit', () => {
    flush()
    const never = new Int32Array(new SharedArrayBuffer(4))
    for (let waits = 0; rest.length && waits < EXIT_WAITS; waits++) {
      Atomics.wait(never, 0, 0, FLUSH_INTERVAL_MS)
      flush()
    }
  })
  return {
    write(line) {
      if (rest.length + lines.length > MAX_WAITING_BYTES) return
      lines += line
      if (lines.length >= BUFFER_LENGTH) flush()
      else flushLater()
    },
  }
}
