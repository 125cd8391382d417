import { spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { temporaryFile } from '../support/files.ts'
import { findProgram } from '../support/shell.ts'
import { unit, unitEnvironment, unitValue } from '../support/unit.ts'
import { configOf, secondsToStop, start } from './settings.ts'

const { installed, whySkipped } = findProgram('systemd-analyze', '--version')

test('the unit starts what npm start starts, and gives it the time that it needs to drain', () => {
  expect(unitValue('ExecStart')).toBe(start)
  const config = configOf({ ...unitEnvironment(4001), DATABASE_URL: unitValue('EnvironmentFile') })
  expect(config.PORT).toBe(4001)
  expect(config.DRAIN_DELAY_MS).toBeGreaterThan(0)
  expect(unitValue('TimeoutStopSec')).toBe(`${secondsToStop(config)}s`)
})

test.skipIf(!installed)(`systemd accepts the unit, without a warning, and rates it below 2 of 10${whySkipped}`, () => {
  const text = unit.replaceAll('=node ', `=${process.execPath} `) // systemd does not search the PATH
  const file = temporaryFile(text, 'pet-store@.service')
  const verified = spawnSync('systemd-analyze', ['verify', file], { encoding: 'utf8' })
  const rated = spawnSync('systemd-analyze', ['security', '--offline=yes', '--threshold=20', file])
  expect({ status: verified.status, output: verified.stdout + verified.stderr }).toEqual({ status: 0, output: '' })
  expect(rated.status).toBe(0)
})
