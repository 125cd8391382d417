import { pino } from 'pino'
import { expect, onTestFinished, test, vi } from 'vitest'
import { createLogObserver } from '../../src/telemetry/log-observer.ts'
import { createThrottledLog } from '../../src/telemetry/logger.ts'
import type { Observation } from '../../src/telemetry/observation.ts'
import { collectLog, type LogLine } from '../support/output.ts'

/** Observes each event three times. @returns the lines of the log */
function logOfEvents(events: Observation[]): LogLine[] {
  const log = collectLog()
  const observe = createLogObserver({
    log: pino({}, log),
    databaseUrl: 'postgresql://user:secret@db.example:5433/pets',
  })
  for (const event of events) for (let n = 0; n < 3; n++) observe(event)
  return log.lines
}

test('settings that can lose an acknowledged write are one warning, also after an outage', () => {
  const states = [['fsync', 'synchronous_commit'], [], ['fsync'], undefined, ['fsync']]
  const lines = logOfEvents(
    states.map((notDurable) => ({
      type: 'database-checked',
      ...(notDurable ? { problem: undefined, notDurable } : { problem: 'refused' }),
    })),
  )
  const msg = 'acknowledged writes can be lost'
  expect(lines.filter((line) => line.msg === msg)).toMatchObject([
    { level: 40, msg, reason: expect.stringMatching(/^fsync, synchronous_commit off:/) },
    { level: 40, msg, reason: expect.stringMatching(/^fsync off:/) },
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

test('a line about repetitions has the message and the details of the same event', () => {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  const log = collectLog()
  const warn = createThrottledLog(pino({}, log), 1_000)
  for (const n of [1, 2, 3]) warn(`event ${n}`, { n }, 'key')
  vi.advanceTimersByTime(1_000)
  expect(log.lines).toMatchObject([
    { n: 1, count: 1, msg: 'event 1' },
    { n: 3, count: 2, msg: 'event 3' },
  ])
})
