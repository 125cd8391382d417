import { spawnSync } from 'node:child_process'
import { describe, expect, test } from 'vitest'

/** Runs a script of package.json without npm, so that it fails if it installs anything. */
function run(script: string, ...args: string[]) {
  const options = { cwd: new URL('../..', import.meta.url).pathname, env: { PATH: '' }, encoding: 'utf8' } as const
  const { status, stdout, stderr } = spawnSync(process.execPath, [`test/${script}/run.mjs`, ...args], options)
  return { status, stdout, stderr }
}

describe('--help prints the usage with exit code 0, and installs nothing', () => {
  test.for(['bench', 'chaos', 'clients', 'conformance'])('npm run %s', (script) => {
    const usage = expect.stringMatching(new RegExp(`^Usage: npm run ${script}\\b`))
    expect(run(script, '--help')).toEqual({ status: 0, stdout: usage, stderr: '' })
  })
})

describe('a wrong argument is reported before the usage, and nothing is installed', () => {
  test.for([
    ['bench', 'gowth', 'Unknown command: gowth.'],
    ['bench', '--rows', "Option '--rows <value>' argument missing"],
    ['bench', '--peers=nst', '--peers has an unknown name: nst.'],
    ['bench', '--rows=many', '--rows takes a whole number, not many.'],
    ['chaos', 'kill', 'Unknown part: kill.'],
    ['chaos', '--kils', 'Unknown size: --kils.'],
    ['chaos', '--kills', '--kills takes a whole number.'],
    ['clients', 'apollo', 'npm run clients takes no arguments.'],
  ] as const)('npm run %s -- %s', ([script, argument, problem]) => {
    const { status, stdout, stderr } = run(script, argument)
    expect([status, stdout, stderr.split('\n')[0]]).toEqual([1, '', problem])
  })
})
