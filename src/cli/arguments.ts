import { parseArgs, type ParseArgsConfig } from 'node:util'
import { OperatorError } from '../operator-error.ts'

/** Wrong arguments: the message says what is wrong, then how the program is used. */
export class UsageError extends OperatorError {
  constructor(problem: string, usage: string) {
    super(`${problem}\n\n${usage}`)
  }
}

/** @param command undefined if there is none */
export function unknownCommandError(command: string | undefined, usage: string): UsageError {
  return new UsageError(command ? `Unknown command: ${command}.` : 'A command is missing.', usage)
}

/** @param names of the arguments beside the options; every argument is required. @throws UsageError */
export function parseArguments<Options extends NonNullable<ParseArgsConfig['options']>>(
  args: string[],
  options: Options,
  usage: string,
  names: string[] = [],
) {
  const { values, positionals } = parseStrictly()
  const missing = names[positionals.length]
  if (missing) throw new UsageError(`${missing} is missing.`, usage)
  if (positionals.length > names.length) throw new UsageError('There are too many arguments.', usage)
  return { values, positionals }

  function parseStrictly() {
    try {
      return parseArgs({ args, options, allowPositionals: true })
    } catch (error) {
      const [problem = ''] = (error as Error).message.split('\n') // only parseArgs throws here
      throw new UsageError(problem, usage)
    }
  }
}
