import { OperatorError } from '../../src/lib/operator-error.ts'
import { parseOptions, USAGE } from './options.ts'

/** Checks the arguments before anything is installed. @returns the exit code, or undefined to go on */
export function checkArguments(args: string[]): number | undefined {
  try {
    if (args.includes('--help')) {
      console.log(USAGE)
      return 0
    }
    parseOptions(args)
    return undefined
  } catch (error) {
    if (!(error instanceof OperatorError)) throw error
    console.error(error.message)
    return 1
  }
}
