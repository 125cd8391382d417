import { OperatorError } from '../../src/operator-error.ts'

/** Runs a command, then exits. @param run returns the exit code; of an OperatorError only the message is printed */
export async function runCommand(usage: string, run: (args: string[]) => Promise<number>): Promise<never> {
  try {
    if (process.argv.includes('--help')) console.log(usage)
    else process.exitCode = await run(process.argv.slice(2))
  } catch (error) {
    if (!(error instanceof OperatorError)) throw error
    console.error(error.message)
    process.exitCode = 1
  }
  process.exit() // fetch keeps connections open
}
