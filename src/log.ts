import { type DestinationStream, type Logger, pino } from 'pino'
import { type Config, version } from './config.ts'

/** JSON lines, on stdout if no other stream is given. */
export function createLog(level: Config['logLevel'], stream?: DestinationStream): Logger {
  const hooks = { streamWrite: withoutKeys }
  return pino({ level, base: { pid: process.pid, version }, timestamp: pino.stdTimeFunctions.isoTime, hooks }, stream)
}

/** Lines for people, on a developer's terminal; undefined anywhere else. */
export async function terminalStream({ production }: Config): Promise<DestinationStream | undefined> {
  if (production || !process.stdout.isTTY) return undefined
  const { default: pretty } = await import('pino-pretty') // not installed in production
  return pretty({ sync: true, singleLine: true, ignore: 'pid,version', translateTime: 'SYS:HH:MM:ss.l' })
}

/** A line of the log in which no key stands, whatever a client has put where: its prefix is all that is left of it. */
export function withoutKeys(line: string): string {
  return line.replace(/(pets_[0-9a-z]{8})[0-9a-z]{20,}/gi, '$1…')
}
