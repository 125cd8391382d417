import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { expect } from 'vitest'
import { pathOf } from '../support/files.ts'
import { INHERITED, testWithProcess as test } from '../support/processes.ts'
import { GENEROUS_TIMEOUTS } from '../support/timeouts.ts'

const main = pathOf('dist/main.js')
const hasTerminal = spawnSync('script', ['--version']).stdout?.includes('util-linux')

/** Runs what `npm run dev` starts in a terminal, and presses Ctrl-C when it says so. @returns what it printed */
async function runUntilCtrlC(env: Record<string, string>): Promise<string> {
  const options = { env: { ...INHERITED, ...GENEROUS_TIMEOUTS, PORT: '0', ...env } }
  const terminal = spawn('script', ['-qec', `'${process.execPath}' --watch '${main}'`, '/dev/null'], options)
  const ended = once(terminal, 'close')
  let printed = ''
  for await (const text of terminal.stdout.setEncoding('utf8')) {
    const wasReady = printed.includes('Press Ctrl-C')
    printed += text
    if (!wasReady && printed.includes('Press Ctrl-C')) terminal.stdin.write('\x03')
  }
  await ended
  return printed
}

// The terminal signals every process of its foreground group, and `node --watch` signals its child again.
test.skipIf(!hasTerminal)('Ctrl-C in a terminal stops the service and PostgreSQL', async ({ sandbox }) => {
  await sandbox.initialise()
  expect(await runUntilCtrlC({ DATA_DIR: sandbox.dataDir })).toContain('"msg":"stopped"')
  expect(await sandbox.postgresPid()).toBeUndefined()
})
