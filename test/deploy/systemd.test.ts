import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { configOf, read, secondsToStop, start } from './settings.ts'

const hasSystemd = spawnSync('systemd-analyze', ['--version']).status === 0
const whySkipped = hasSystemd ? '' : ' (there is no systemd-analyze on the PATH)'

const unit = read('deploy/pet-store.service')
const valueOf = (name: string) => new RegExp(`^${name}=(.*)$`, 'm').exec(unit)?.[1] ?? ''

test('the unit starts what npm start starts, and gives it the time that it needs to drain', () => {
  expect(valueOf('ExecStart')).toBe(start)
  const variables = Object.fromEntries(
    valueOf('Environment')
      .split(' ')
      .map((text) => text.split('=')),
  )
  const config = configOf({ ...variables, DATABASE_URL: valueOf('EnvironmentFile') })
  expect(config.DRAIN_DELAY_MS).toBeGreaterThan(0)
  expect(valueOf('TimeoutStopSec')).toBe(`${secondsToStop(config)}s`)
})

test.skipIf(!hasSystemd)(`systemd accepts the unit, without a warning, and rates it below 2 of 10${whySkipped}`, () => {
  const folder = mkdtempSync(join(tmpdir(), 'pet-store-unit-'))
  const file = join(folder, 'pet-store.service')
  writeFileSync(file, unit.replaceAll('=node ', `=${process.execPath} `)) // systemd does not search the PATH
  const verified = spawnSync('systemd-analyze', ['verify', file], { encoding: 'utf8' })
  const rated = spawnSync('systemd-analyze', ['security', '--offline=yes', '--threshold=20', file])
  rmSync(folder, { recursive: true })
  expect({ status: verified.status, output: verified.stdout + verified.stderr }).toEqual({ status: 0, output: '' })
  expect(rated.status).toBe(0)
})
