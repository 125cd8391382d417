import { type DestinationStream, type Logger, pino } from 'pino'
import { type Config, version } from '../config.ts'

/** How long a line may wait, in milliseconds: all that a process loses that is killed. */
const FLUSH_INTERVAL_MS = 10

/** Linux writes so many bytes to a pipe in one piece: lines of workers that share it stay whole. */
const PIPE_BUF = 4_096

/** JSON lines, on stdout if no other stream is given. */
export function createLogger(
  level: Config['logLevel'],
  stream: DestinationStream = bufferedStream(pino.destination(1)),
): Logger {
  const hooks = { streamWrite: redactKeys }
  return pino({ level, base: { pid: process.pid, version }, timestamp: pino.stdTimeFunctions.isoTime, hooks }, stream)
}

/** Lines for people, on a developer's terminal; undefined anywhere else. */
export async function prettyStream({ production }: Config): Promise<DestinationStream | undefined> {
  if (production || !process.stdout.isTTY) return undefined
  const { default: pretty } = await import('pino-pretty') // not installed in production
  return pretty({ sync: true, singleLine: true, ignore: 'pid,version', translateTime: 'SYS:HH:MM:ss.l' })
}

/** A line of the log in which no key stands, whatever a client has put where: its prefix is all that is left of it. */
export function redactKeys(line: string): string {
  return line.replace(/(pets_[0-9a-z]{8})[0-9a-z]{20,}/gi, '$1…')
}

/**
 * An output that writes together what is logged within WAIT_MS: a write for each request's line was an eighth of all
 * the time that requests took. However the process ends, other than by SIGKILL, what is left is written then.
 */
export function bufferedStream(output: DestinationStream): DestinationStream {
  let lines = ''

  function flush(): void {
    if (lines) output.write(lines)
    lines = ''
  }
  process.once('exit', flush)

  return {
    write(line) {
      if (lines.length + line.length > PIPE_BUF) flush()
      if (!lines) setTimeout(flush, FLUSH_INTERVAL_MS)
      lines += line
    },
  }
}
