import { appendFileSync } from 'node:fs'
import type { DestinationStream } from 'pino'
import { inject } from 'vitest'
import { redactKeys } from '../../src/telemetry/logger.ts'
import { waitUntil } from './timeouts.ts'

/** Records what a service or a program has printed: key-leaks.ts searches it for keys at the end of the run. */
export const recordOutput = (text: string): void => appendFileSync(inject('outputFile'), text)

/** Records a key, which no output may contain. @returns the key */
export function recordKey(key: string): string {
  appendFileSync(inject('keysFile'), `${key}\n`)
  return key
}

export type LogLine = Record<string, unknown>

/** The log of a service that runs in the test's process. */
export interface Log extends DestinationStream {
  lines: LogLine[]
  /** Waits for a line with these members, since a response may arrive before its line is written. @returns the first */
  line(members: LogLine): Promise<LogLine>
}

export function collectLog(): Log {
  const lines: LogLine[] = []
  return {
    lines,
    write(line) {
      const text = redactKeys(line)
      recordOutput(text)
      lines.push(JSON.parse(text) as LogLine) // pino writes one object per line
    },
    async line(members) {
      const expected = Object.entries(members)
      const find = () => lines.find((line) => expected.every(([name, value]) => line[name] === value))
      return (await waitUntil(find)) as LogLine // which it has found
    },
  }
}
