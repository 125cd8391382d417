import { databaseFailure, isSchemaOutdated, reasonOf } from '../database/errors.ts'
import { OperatorError } from '../operator-error.ts'

/**
 * Runs a program to its end, then exits, with code 1 after an error. `--help` prints the help and does nothing else.
 * @param run receives the environment variables. An OperatorError that it throws is printed as its message
 */
export async function runProgram(run: (env: NodeJS.ProcessEnv) => Promise<void>, help: () => string): Promise<never> {
  try {
    if (process.argv.includes('--help')) console.log(help())
    else await run(process.env)
  } catch (error) {
    console.error(explain(error))
    process.exitCode = 1
  }
  process.exit() // whatever timers are left
}

/** One line for what an operator can act on; the stack of any other error. */
function explain(error: unknown): unknown {
  if (error instanceof OperatorError) return error.message
  if (!(error instanceof Error)) return error
  if (isSchemaOutdated(error)) return 'The database schema is out of date: npm run migrate -- deploy'
  if (!databaseFailure(error)) return error.stack
  // Prisma's message begins with the call that failed; its last line is the reason.
  return `The database is not available: ${reasonOf(error).trim().split('\n').at(-1)}`
}
