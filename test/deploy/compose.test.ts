import { spawnSync } from 'node:child_process'
import { DCLinter } from 'dclint'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { pathOf, read } from '../support/files.ts'
import { findProgram } from '../support/shell.ts'
import { configOf, secondsToStop } from './settings.ts'

const { installed, whySkipped } = findProgram('haproxy', '-v')

const { services } = parse(read('deploy/compose.yaml')) as {
  services: Record<string, { environment?: Record<string, string>; stop_grace_period?: string }> // dclint checks it
}

test('compose.yaml is valid according to dclint', () => {
  const linter = new DCLinter({ rules: {}, quiet: false, debug: false, exclude: [] })
  const results: { messages: unknown[] }[] = linter.lintFiles([pathOf('deploy/compose.yaml')], false) // its own types need a bundler
  expect(results.map(({ messages }) => messages)).toEqual([[]])
})

test('compose.yaml configures the service with valid variables, and gives it the time that it needs to drain', () => {
  const config = configOf(services.api?.environment ?? {})
  expect(config.DRAIN_DELAY_MS).toBeGreaterThan(0)
  expect(services.api?.stop_grace_period).toBe(`${secondsToStop(config)}s`)
})

test.skipIf(!installed)(`haproxy.cfg is valid, without a warning, with and without Compose${whySkipped}`, () => {
  for (const env of [{}, services.proxy?.environment]) {
    const { status, stdout, stderr } = spawnSync('haproxy', ['-c', '-f', pathOf('deploy/haproxy.cfg')], {
      encoding: 'utf8',
      env: { PATH: process.env.PATH, ...env },
    })
    expect({ status, output: stdout + stderr }).toEqual({ status: 0, output: 'Configuration file is valid\n' })
  }
})

test('haproxy.cfg keeps subscriptions open, which send a comment every 12 seconds', () => {
  for (const side of ['client', 'server'])
    expect(Number(new RegExp(`^ +timeout ${side} (\\d+)s`, 'm').exec(read('deploy/haproxy.cfg'))?.[1])).toBeGreaterThan(
      15,
    )
})
