import type { Request } from 'express'
import { pino } from 'pino'
import { expect, test } from 'vitest'
import { ApiError } from '../../src/errors.ts'
import { createLogObserver } from '../../src/telemetry/log-observer.ts'
import type { DatabaseState } from '../../src/database/readiness.ts'
import type { Observation } from '../../src/telemetry/observation.ts'

/** Observes each event three times. @returns the lines of the log */
function logOfEvents(events: Observation[]): Record<string, unknown>[] {
  const lines: Record<string, unknown>[] = []
  const log = pino({}, { write: (line: string) => void lines.push(JSON.parse(line)) })
  const observe = createLogObserver(log, 'postgresql://user:secret@db.example:5433/pets')
  for (const event of events) for (let n = 0; n < 3; n++) observe(event)
  return lines
}

const logOf = (states: DatabaseState[]) => logOfEvents(states.map((state) => ({ type: 'database-checked', ...state })))

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

test('a 503 is a line with its message, except that of a probe which reports a state', () => {
  const error = new ApiError('UNAVAILABLE', 'Too many subscriptions are open.')
  const of = (routeTemplate: string): Observation => ({ type: 'error', error, req: { routeTemplate } as Request })
  expect(logOfEvents([of('/graphql'), of('/readyz')])).toMatchObject([
    { level: 40, msg: error.message, code: error.code },
  ])
})

test('what happens to the feeds of two resources at the same time is a line for each of them', () => {
  const resources = ['animals', 'orders']
  const lines = logOfEvents(
    resources.flatMap((resource): Observation[] => [
      { type: 'feed-failed', resource, error: new Error('refused') },
      { type: 'sequence-read', resource, lagMs: 11_000, problem: `repair ${resource}` },
    ]),
  )
  expect(lines).toMatchObject(
    resources.flatMap((resource) => [
      { msg: 'failed to read new items', resource, reason: 'refused' },
      { msg: 'new items wait for an open transaction', resource, seconds: 11 },
      { msg: 'the sequence of ids must be repaired', resource, reason: `repair ${resource}` },
    ]),
  )
})

test('a replica that is excluded, and a read that the primary executes without an exclusion, are different lines', () => {
  const [reason, slow] = ['it is not a standby', 'the primary did not report its WAL position within 50 ms']
  const lines = logOfEvents([
    { type: 'replica-excluded', replica: { reason, host: 'standby.example' } },
    { type: 'replicas-bypassed', reason: slow },
  ])
  expect(lines).toMatchObject([
    { msg: 'replica excluded for up to a second, reading from the primary', reason, host: 'standby.example' },
    { msg: 'reading from the primary, no replica excluded', reason: slow },
  ])
})
