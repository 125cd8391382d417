import { expect, vi } from 'vitest'
import * as keysCommand from '../../src/cli/keys-command.ts'
import * as migrateCommand from '../../src/cli/migrate-command.ts'
import { execute } from '../../src/cli/program.ts'
import { recordOutput } from './output.ts'
import { type ProgramResult, withoutPrintedKey } from './processes.ts'
import { GENEROUS_TIMEOUTS } from './timeouts.ts'

type Run = (env: NodeJS.ProcessEnv, args: string[]) => Promise<void>

/**
 * Executes a command in this process: most of what a start of a program takes is loading its modules.
 * @param execute returns its exit code. @returns also what it printed
 */
export async function withOutput(execute: () => Promise<number>): Promise<ProgramResult> {
  let [stdout, stderr] = ['', '']
  const spies = [
    vi.spyOn(process.stdout, 'write').mockImplementation((text, ...rest) => {
      stdout += String(text)
      rest.forEach((each) => typeof each === 'function' && each())
      return true
    }),
    vi.spyOn(console, 'log').mockImplementation((text: unknown) => void (stdout += `${text}\n`)),
    vi.spyOn(console, 'error').mockImplementation((text: unknown) => void (stderr += `${text}\n`)),
  ]
  const code = await execute().finally(() => spies.forEach((spy) => spy.mockRestore()))
  recordOutput(withoutPrintedKey(stdout) + stderr)
  return { code, stdout, stderr }
}

const runCommand = (run: Run, usage: string, args: string[], env: NodeJS.ProcessEnv) =>
  withOutput(async () => ((await execute(run, { ...GENEROUS_TIMEOUTS, ...env }, args, usage)) ? 0 : 1))

export const runKeysCommand = (args: string[], DATABASE_URL: string, env: NodeJS.ProcessEnv = {}) =>
  runCommand(keysCommand.runKeys, keysCommand.USAGE, args, { DATABASE_URL, ...env })

export const runMigrateCommand = (args: string[], DATABASE_URL: string, env: NodeJS.ProcessEnv = {}) =>
  runCommand(migrateCommand.runMigrate, migrateCommand.USAGE, args, { DATABASE_URL, ...env })

/** Executes the keys command, which succeeds with at most one line on stderr. @returns its stdout */
export async function keys(databaseUrl: string, ...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await runKeysCommand(args, databaseUrl)
  expect({ args, code, stderr }).toEqual({ args, code: 0, stderr: expect.stringMatching(/^([^\n]+\n)?$/) })
  return stdout.trim()
}
