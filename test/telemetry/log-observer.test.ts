import { pino } from 'pino'
import { expect, test } from 'vitest'
import { createLogObserver } from '../../src/telemetry/log-observer.ts'
import type { CheckedDatabase } from '../../src/telemetry/observation.ts'

/** Observes each state of the database three times. @returns the lines of the log */
function logOf(states: CheckedDatabase[]): Record<string, unknown>[] {
  const lines: Record<string, unknown>[] = []
  const log = pino({}, { write: (line: string) => void lines.push(JSON.parse(line)) })
  const observe = createLogObserver({ log, databaseUrl: 'postgresql://user:secret@db.example:5433/pets' })
  for (const state of states) for (let n = 0; n < 3; n++) observe({ type: 'database-checked', ...state })
  return lines
}

const good = { problem: undefined, notDurable: [] }

test('each reason why the database is unavailable, and the end, is one line without credentials', () => {
  const lines = logOf([good, { problem: 'refused' }, { ...good, problem: 'outdated' }, good])
  expect(lines).toMatchObject([
    { level: 40, msg: 'database unavailable', host: 'db.example:5433', reason: 'refused' },
    { level: 40, msg: 'database unavailable', reason: 'outdated' },
    { level: 40, msg: 'database available again', seconds: 0 },
  ])
  expect(JSON.stringify(lines)).not.toContain('secret')
})

test('settings that can lose an acknowledged write are one warning, also after an outage', () => {
  const states = [['fsync', 'synchronous_commit'], [], ['fsync']].map((notDurable) => ({ ...good, notDurable }))
  const outage = { problem: 'refused' }
  const lines = logOf([...states, outage, { ...good, notDurable: ['fsync'] }])
  const msg = 'acknowledged writes can be lost'
  expect(lines.filter((line) => line.msg === msg)).toMatchObject([
    { level: 40, msg, reason: expect.stringMatching(/^fsync, synchronous_commit off:/) },
    { level: 40, msg, reason: expect.stringMatching(/^fsync off:/) },
  ])
})
