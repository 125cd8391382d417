import type { Request } from 'express'
import { pino } from 'pino'
import { expect, test } from 'vitest'
import { ApiError } from '../../src/errors.ts'
import { createLogObserver } from '../../src/telemetry/log-observer.ts'
import type { Observation } from '../../src/telemetry/observation.ts'

/** Observes each event three times. @returns the lines of the log */
function logOf(events: Observation[]): Record<string, unknown>[] {
  const lines: Record<string, unknown>[] = []
  const log = pino({}, { write: (line: string) => void lines.push(JSON.parse(line)) })
  const observe = createLogObserver(log, 'postgresql://localhost/pets')
  for (const event of events) for (let n = 0; n < 3; n++) observe(event)
  return lines
}

test('a 503 is a line with its message, except that of a probe which reports a state', () => {
  const of = (routeTemplate: string, message: string): Observation => ({
    type: 'error',
    error: new ApiError('UNAVAILABLE', message),
    req: { routeTemplate } as Request,
  })
  const lines = logOf([
    of('/graphql', 'Too many subscriptions are open.'),
    of('/readyz', 'The service is shutting down.'),
  ])
  expect(lines).toMatchObject([{ level: 40, msg: 'Too many subscriptions are open.', code: 'UNAVAILABLE' }])
})

test('what happens to the feeds of two resources at the same time is a line for each of them', () => {
  const lines = logOf(
    ['animals', 'orders'].flatMap((resource): Observation[] => [
      { type: 'feed-failed', resource, error: new Error('refused') },
      { type: 'sequence-read', resource, lagMs: 11_000, problem: `repair ${resource}` },
    ]),
  )
  expect(lines).toMatchObject(
    ['animals', 'orders'].flatMap((resource) => [
      { resource, reason: 'refused' },
      { resource, seconds: 11 },
      { resource, reason: `repair ${resource}` },
    ]),
  )
})

test('each replica that is excluded, and a read that the primary executes without an exclusion, has a line', () => {
  const lines = logOf([
    { type: 'replica-excluded', replica: { reason: 'it is not a standby', host: 'standby.example' } },
    { type: 'replica-excluded', replica: { reason: 'it is not a standby', host: 'other.example' } },
    { type: 'replicas-bypassed', reason: 'slow' },
  ])
  expect(lines).toMatchObject([
    { msg: 'replica excluded for up to a second, reading from the primary', host: 'standby.example' },
    { msg: 'replica excluded for up to a second, reading from the primary', host: 'other.example' },
    { msg: 'reading from the primary, no replica excluded', reason: 'slow' },
  ])
})
