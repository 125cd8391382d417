import { appendFileSync } from 'node:fs'
import type { DestinationStream } from 'pino'
import { inject } from 'vitest'

/** Keeps what a service or a program has printed, to be searched for keys when the run is over (leaks.ts). */
export function keepOutput(text: string): void {
  appendFileSync(inject('outputFile'), text)
}

/** Keeps a key of the run, which nothing may print. */
export function keepKey(key: string): string {
  appendFileSync(inject('keysFile'), `${key}\n`)
  return key
}

export type LogLine = Record<string, unknown>

/** The log of a service in the test's process. */
export interface Log extends DestinationStream {
  lines: LogLine[]
  /** @returns the first line like this, as soon as there is one: an answer may be here before its line */
  line(members: LogLine): Promise<LogLine>
}

export function collectLog(): Log {
  const lines: LogLine[] = []
  const waiting = new Set<() => void>()
  return {
    lines,
    write(text) {
      keepOutput(text)
      lines.push(JSON.parse(text) as LogLine) // a line is an object
      waiting.forEach((look) => look())
    },
    line(members) {
      const wanted = Object.entries(members)
      return new Promise((resolve) => {
        const look = () => {
          const found = lines.find((line) => wanted.every(([name, value]) => line[name] === value))
          if (!found) return
          waiting.delete(look)
          resolve(found)
        }
        waiting.add(look)
        look()
      })
    },
  }
}
