import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { pathOf } from './support/files.ts'

// Beside the other tests, since the build does not check types. Formatting, which takes longer, is left to the gate.
test('lint and types are right: npm run lint', async () => {
  const { NODE_OPTIONS: _ofTheTests, ...env } = process.env // by which `npm run nodes` makes deprecations errors
  const cwd = pathOf('')
  const child = spawn('npm run --silent lint 2>&1', { cwd, env, shell: true, stdio: ['ignore', 'pipe', 'inherit'] })
  const [output, code] = await Promise.all([text(child.stdout), new Promise((exited) => child.on('close', exited))])
  expect({ code, output: code ? output : '' }).toEqual({ code: 0, output: '' })
})
