import { OperatorError } from '../../src/lib/operator-error.ts'

type Run = (args: string[]) => Promise<number>

/** Runs a command with the arguments of this process, then exits with its code. */
export async function runCommand(usage: string, run: Run): Promise<never> {
  process.exitCode = await execute(usage, run, process.argv.slice(2))
  process.exit() // fetch keeps connections open
}

/** @param run returns the exit code; of an OperatorError only the message is printed. @returns the exit code */
export async function execute(usage: string, run: Run, args: string[]): Promise<number> {
  try {
    if (!args.includes('--help')) return await run(args)
    console.log(usage)
    return 0
  } catch (error) {
    if (!(error instanceof OperatorError)) throw error
    console.error(error.message)
    return 1
  }
}
