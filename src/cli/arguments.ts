import { parseArgs, type ParseArgsConfig } from 'node:util'
import { OperatorError } from '../lib/operator-error.ts'

/** The error for wrong arguments: the message says what is wrong, then how the program is used. */
export const usageError = (problem: string, usage: string) => new OperatorError(`${problem}\n\n${usage}`)

export function unknownCommandError(command: string | undefined, usage: string): OperatorError {
  return usageError(command ? `Unknown command: ${command}.` : 'A command is missing.', usage)
}

/** @param names of the arguments beside the options; every argument is required. @throws OperatorError */
export function parseArguments<Options extends NonNullable<ParseArgsConfig['options']>>(
  args: string[],
  options: Options,
  usage: string,
  names: string[] = [],
) {
  try {
    const { values, positionals } = parseArgs({ args, options, allowPositionals: true })
    const missing = names[positionals.length]
    if (missing) throw new Error(`${missing} is missing.`)
    if (positionals.length > names.length) throw new Error('There are too many arguments.')
    return { values, positionals }
  } catch (error) {
    const [problem = ''] = (error as Error).message.split(/(?<=\.)\s|\n/) // of Node's, the first sentence
    throw usageError(problem, usage)
  }
}
