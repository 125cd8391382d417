import { pino } from 'pino'
import { expect, test } from 'vitest'
import type { DatabaseState } from '../../src/database/readiness.ts'
import { createDatabaseMonitor } from '../../src/telemetry/database-monitor.ts'

/** A database of this state, or none that responds; `lines` is the log. */
function createMonitor() {
  const state = { found: 'refused' as DatabaseState | string, lines: [] as Record<string, unknown>[] }
  const monitor = createDatabaseMonitor({
    log: pino({}, { write: (line: string) => void state.lines.push(JSON.parse(line)) }),
    databaseUrl: 'postgresql://user:secret@db.example:5433/pets',
    isStopping: () => false,
    readState: async () => (typeof state.found === 'string' ? Promise.reject(new Error(state.found)) : state.found),
  })
  const check = async (found: DatabaseState | string) => {
    state.found = found
    for (let times = 0; times < 3; times++) await monitor().catch(() => {})
  }
  return { lines: state.lines, check }
}

const good: DatabaseState = { problem: undefined, notDurable: [] }

test('each reason why the database is unavailable, and the end, is one line without credentials', async () => {
  const { lines, check } = createMonitor()
  for (const found of [good, 'refused', { ...good, problem: 'outdated' }, good]) await check(found)
  expect(lines).toMatchObject([
    { level: 40, msg: 'database unavailable', host: 'db.example:5433', reason: 'refused' },
    { level: 40, msg: 'database unavailable', reason: 'outdated' },
    { level: 40, msg: 'database available again', seconds: 0 },
  ])
  expect(JSON.stringify(lines)).not.toContain('secret')
})

test('settings that can lose an acknowledged write are one warning', async () => {
  const { lines, check } = createMonitor()
  for (const notDurable of [['fsync', 'synchronous_commit'], [], ['fsync']]) await check({ ...good, notDurable })
  const msg = 'acknowledged writes can be lost'
  expect(lines).toMatchObject([
    { level: 40, msg, reason: expect.stringMatching(/^fsync, synchronous_commit off:/) },
    { level: 40, msg, reason: expect.stringMatching(/^fsync off:/) },
  ])
})
