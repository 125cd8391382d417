import { expect, vi } from 'vitest'
import { runKeys, USAGE } from '../../src/cli/keys-command.ts'
import { execute } from '../../src/cli/program.ts'
import { recordOutput } from './output.ts'
import { type ProgramResult, withoutPrintedKey } from './processes.ts'
import { GENEROUS_TIMEOUTS } from './timeouts.ts'

/** Executes the keys command in this process: most of what a start of the program takes is loading its modules. */
export async function runKeysCommand(args: string[], databaseUrl: string): Promise<ProgramResult> {
  let [stdout, stderr] = ['', '']
  const spies = [
    vi.spyOn(process.stdout, 'write').mockImplementation((text, ...rest) => {
      stdout += String(text)
      rest.forEach((each) => typeof each === 'function' && each())
      return true
    }),
    vi.spyOn(console, 'error').mockImplementation((text: unknown) => void (stderr += `${text}\n`)),
  ]
  const succeeded = await execute(runKeys, { ...GENEROUS_TIMEOUTS, DATABASE_URL: databaseUrl }, args, USAGE)
  for (const spy of spies) spy.mockRestore()
  recordOutput(withoutPrintedKey(stdout) + stderr)
  return { code: succeeded ? 0 : 1, stdout, stderr }
}

/** Executes the keys command, which succeeds with at most one line on stderr. @returns its stdout */
export async function keys(databaseUrl: string, ...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await runKeysCommand(args, databaseUrl)
  expect({ args, code, stderr }).toEqual({ args, code: 0, stderr: expect.stringMatching(/^([^\n]+\n)?$/) })
  return stdout.trim()
}
