import { databaseFailure, isSchemaOutdated, permissionDenied, reasonOf } from '../database/failures.ts'
import { describeEnvironment } from '../config/environment.ts'
import { OperatorError } from '../lib/operator-error.ts'
import { redactKeys } from '../telemetry/logger.ts'

type Run = (env: NodeJS.ProcessEnv, args: string[]) => Promise<void>

/** Executes the program of this process, then exits, with code 1 after an error. @param usage of a program with arguments */
export async function runProgram(run: Run, usage?: string): Promise<never> {
  if (!(await execute(run, process.env, process.argv.slice(2), usage))) process.exitCode = 1
  process.exit() // does not wait for the timers that are left
}

/** Prints a line, and waits until stdout has taken it, because an exit would discard the rest. @throws OperatorError */
export function print(text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const { stdout } = process
    stdout.once('error', reject) // without a listener, the error would end the process
    stdout.write(`${text}\n`, (error) => {
      if (error) return reject(new OperatorError(`The output could not be written: ${error.message}`))
      stdout.off('error', reject)
      resolve()
    })
  })
}

/**
 * Executes a program. `--help` prints the help and does nothing else. Of an OperatorError only the message is printed. No
 * error is printed with an API key, which may have been an argument in the wrong place.
 * @returns whether it succeeded
 */
export async function execute(run: Run, env: NodeJS.ProcessEnv, args: string[], usage?: string): Promise<boolean> {
  try {
    if (args.includes('--help')) await print([usage, describeEnvironment()].filter(Boolean).join('\n\n'))
    else await run(env, args)
    return true
  } catch (error) {
    console.error(redactKeys(explain(error)))
    return false
  }
}

/** @returns one line for what an operator can act on; the stack of any other error */
function explain(error: unknown): string {
  if (error instanceof OperatorError) return error.message
  if (!(error instanceof Error)) return String(error)
  if (isSchemaOutdated(error)) return 'The database schema is out of date: node dist/cli/migrate.js deploy'
  const denied = permissionDenied(error)
  if (denied) return `The role of DATABASE_URL must not do this: ${denied}`
  if (!databaseFailure(error)) return error.stack ?? error.message
  // Prisma's message begins with the call that failed; its last line is the reason.
  return `The database is not available: ${reasonOf(error).trim().split('\n').at(-1)}`
}
