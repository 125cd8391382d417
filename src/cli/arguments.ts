import { parseArgs } from 'node:util'
import { OperatorError } from '../operator-error.ts'

/** Wrong arguments: the message says what is wrong, then how the program is used. */
export class UsageError extends OperatorError {
  constructor(problem: string, usage: string) {
    super(`${problem}\n\n${usage}`)
  }
}

/** What a program or one of its commands takes. */
export interface Grammar {
  /** Names of its arguments; all are required. */
  arguments?: readonly string[]
  /** Options with a value, and the name of the value. */
  options?: Readonly<Record<string, string>>
  /** Options without a value. */
  flags?: readonly string[]
}

export interface Arguments {
  positionals: string[]
  options: Record<string, string | undefined>
  flags: Set<string>
}

/** Parses the arguments of a program whose first one is a command. @throws UsageError */
export function parseCommand<Name extends string>(
  args: string[],
  commands: Record<Name, Grammar>,
  usage: string,
): Arguments & { command: Name } {
  const all = Object.values<Grammar>(commands)
  const options = Object.assign({}, ...all.map((grammar) => grammar.options)) as Record<string, string> // of strings
  const { positionals } = tokenize(args, { options, flags: all.flatMap(({ flags = [] }) => flags) })
  const [command] = positionals
  if (command === undefined) throw new UsageError('A command is missing.', usage)
  const isCommand = (text: string): text is Name => Object.hasOwn(commands, text)
  if (!isCommand(command)) throw new UsageError(`Unknown command${quote(command)}.`, usage)
  const grammar = { ...commands[command], arguments: [command, ...(commands[command].arguments ?? [])] }
  const parsed = parseArguments(args, grammar, usage, `\`${command}\``)
  return { ...parsed, command, positionals: parsed.positionals.slice(1) }
}

/**
 * Parses the arguments of a program. An argument is repeated in a message only if it cannot be a secret.
 * @param subject what takes the arguments, for the messages
 * @throws UsageError
 */
export function parseArguments(args: string[], grammar: Grammar, usage: string, subject = 'The command'): Arguments {
  const { arguments: names = [], options = {}, flags: flagNames = [] } = grammar
  const { positionals, given } = tokenize(args, grammar)
  const parsed: Arguments = { positionals, options: {}, flags: new Set() }
  for (const { name, value } of given) {
    if (Object.hasOwn(options, name)) {
      if (value === undefined) throw new UsageError(`--${name} needs a value: --${name} ${options[name]}`, usage)
      parsed.options[name] = value
    } else if (!flagNames.includes(name)) {
      throw new UsageError(`${subject} has no such option${quote(name, '--')}.`, usage)
    } else {
      if (value !== undefined) throw new UsageError(`--${name} takes no value.`, usage)
      parsed.flags.add(name)
    }
  }
  const missing = names[positionals.length]
  if (missing) throw new UsageError(`${missing} is missing.`, usage)
  if (positionals.length > names.length) throw new UsageError(`${subject} has too many arguments.`, usage)
  return parsed
}

interface GivenOption {
  name: string
  value: string | undefined
}

/** The next argument is the value of an option that takes one, unless it looks like an option. */
function tokenize(
  args: string[],
  { options = {}, flags = [] }: Grammar,
): { positionals: string[]; given: GivenOption[] } {
  const withValue = Object.keys(options).map((name) => [name, { type: 'string' }] as const)
  const withoutValue = flags.map((name) => [name, { type: 'boolean' }] as const)
  const known = Object.fromEntries([...withValue, ...withoutValue])
  const { tokens } = parseArgs({ args, options: known, strict: false, tokens: true, allowPositionals: true })
  const isOption = (value: string) => value.startsWith('--')
  const given = tokens
    .filter((token) => token.kind === 'option')
    .map(({ name, value, inlineValue }) => ({
      name,
      value: !inlineValue && value && isOption(value) ? undefined : value,
    }))
  return { positionals: tokens.filter((token) => token.kind === 'positional').map(({ value }) => value), given }
}

/** An API key has digits and an underscore, so that it is never repeated. */
function quote(text: string, prefix = ''): string {
  return /^[a-z-]{1,20}$/.test(text) ? `: ${prefix}${text}` : ''
}
