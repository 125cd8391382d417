import { pino } from 'pino'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { DatabaseState } from '../../src/database/readiness.ts'
import { createDatabaseMonitor } from '../../src/telemetry/database-monitor.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }))
afterEach(() => void vi.useRealTimers())

/** A monitor of a database that is unavailable while it has a problem. */
function createMonitor() {
  const found: DatabaseState = { problem: undefined, lockMs: 1_000, statementMs: 2_000, notDurable: [] }
  const state = { problem: undefined as string | undefined, found, checks: 0, lines: [] as Record<string, unknown>[] }
  const log = pino({}, { write: (line: string) => void state.lines.push(JSON.parse(line)) })
  const databaseUrl = 'postgresql://user:secret@db.example:5433/pets'
  const config = { DATABASE_LOCK_TIMEOUT_MS: 1_000, DATABASE_STATEMENT_TIMEOUT_MS: 2_000 }
  const monitor = createDatabaseMonitor({ log, databaseUrl, config }, async () => {
    state.checks += 1
    if (state.problem) throw new Error(state.problem)
    return state.found
  })
  return { state, monitor }
}

test('however often a check is requested, the database is checked once a second, and a problem is one line', async () => {
  for (const problem of [undefined, 'refused']) {
    const { state, monitor } = createMonitor()
    state.problem = problem
    for (let ms = 0; ms < 3_500; ms += 10) {
      monitor.check()
      await vi.advanceTimersByTimeAsync(10)
    }
    monitor.stop()
    monitor.check()
    await vi.advanceTimersByTimeAsync(5_000)
    expect([state.checks, state.lines.length]).toEqual([3, problem ? 1 : 0])
  }
})

test('an available database is checked only on request, also right after a check; each reason and the end are logged', async () => {
  const { state, monitor } = createMonitor()
  monitor.check()
  await vi.advanceTimersByTimeAsync(1_000)
  state.problem = 'refused'
  monitor.check()
  await vi.advanceTimersByTimeAsync(1_000)
  state.problem = 'no such database'
  await vi.advanceTimersByTimeAsync(1_000)
  state.problem = undefined
  await vi.advanceTimersByTimeAsync(60_000)
  expect(state.checks).toBe(4)
  expect(state.lines).toMatchObject([
    { level: 40, msg: 'database unavailable', host: 'db.example:5433', reason: 'refused' },
    { msg: 'database unavailable', reason: 'no such database' },
    { level: 40, msg: 'database available again', seconds: 2 },
  ])
  expect(JSON.stringify(state.lines)).not.toContain('secret')
})

test('settings that can lose an acknowledged write are one warning', async () => {
  const { state, monitor } = createMonitor()
  for (const notDurable of [['fsync', 'synchronous_commit'], [], ['fsync']]) {
    for (let times = 0; times < 2; times++) monitor.checkSettings({ ...state.found, notDurable })
  }
  expect(state.lines).toMatchObject([
    {
      level: 40,
      msg: 'acknowledged writes can be lost',
      reason: expect.stringMatching(/^fsync, synchronous_commit off:/),
    },
    { level: 40, msg: 'acknowledged writes can be lost', reason: expect.stringMatching(/^fsync off:/) },
  ])
  monitor.stop()
})

test('limits that a pooler has ignored are one warning, and the database is not called unavailable', async () => {
  const { state, monitor } = createMonitor()
  const good = state.found
  for (const found of [{ ...good, statementMs: 0 }, { ...good, statementMs: 0 }, good, { ...good, lockMs: 0 }]) {
    state.found = found
    monitor.check()
    await vi.advanceTimersByTimeAsync(2_000)
  }
  expect(state.lines).toMatchObject([
    {
      level: 40,
      msg: 'connections lack their limits',
      reason: 'lock_timeout 1000 ms and statement_timeout 0 ms, not 1000 and 2000 ms: set them on the role',
    },
    { reason: 'lock_timeout 0 ms and statement_timeout 2000 ms, not 1000 and 2000 ms: set them on the role' },
  ])
})
