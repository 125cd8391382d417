import { parseArguments, usageError } from '../../src/cli/arguments.ts'
import { OperatorError } from '../../src/lib/operator-error.ts'
import { OPTIONAL_PEERS, variants } from './variants.ts'
import { workloads } from './workloads.ts'

export const USAGE = `Usage: npm run bench -- [COMMAND] [OPTIONS]
  (no command)        the service against its peers, as ratios
  growth              pages of tables of 1 thousand rows, 100 thousand, and --rows when that is more, say 10000000;
                      all animals, each status, and categories
  overload            the service at 1, 3 and 10 times what it can do

  --rounds N          measurements of each, in turn (5)
  --seconds N         length of each (5)
  --warmup N          seconds of load right before each (3)
  --connections N     keep-alive connections (50)
  --rows N            animals in the table (100000)
  --workloads A,B     only workloads whose names begin so: ${workloads.map(({ name }) => name).join(', ')}
  --peers A,B         only these beside the service: ${variants.map(({ name }) => name).join(', ')}
  --svg               draws test/bench/result.svg

TEST_DATABASE_URL leads to a running PostgreSQL to use instead of the embedded one.`

const OPTIONS = {
  rounds: { type: 'string', default: '5' },
  seconds: { type: 'string', default: '5' },
  warmup: { type: 'string', default: '3' },
  connections: { type: 'string', default: '50' },
  rows: { type: 'string', default: '100000' },
  workloads: { type: 'string' },
  peers: { type: 'string' },
  svg: { type: 'boolean', default: false },
} as const

export type Options = ReturnType<typeof parseOptions>

/** @throws OperatorError that says what is wrong */
export function parseOptions(args: string[]) {
  const { command, values } = parse(args)
  const names = values.peers?.split(',')
  requireKnown('--peers', names, (name) => [...variants.map(({ name }) => name), ...OPTIONAL_PEERS].includes(name))
  const beginnings = values.workloads?.split(',')
  requireKnown('--workloads', beginnings, (text) => workloads.some(({ name }) => name.startsWith(text)))
  const integer = (name: 'rounds' | 'seconds' | 'warmup' | 'connections' | 'rows') => parseInteger(name, values[name])
  return {
    command,
    rounds: integer('rounds'),
    seconds: integer('seconds'),
    warmup: integer('warmup'),
    connections: integer('connections'),
    rows: integer('rows'),
    workloads: workloads.filter(({ name }) => beginnings?.some((text) => name.startsWith(text)) ?? true),
    variants: variants.filter(({ name }) => name === 'service' || (names?.includes(name) ?? true)),
    svg: values.svg,
  }
}

const COMMANDS = ['compare', 'growth', 'overload'] as const

/** The command may be missing. */
function parse(args: string[]) {
  const command = COMMANDS.find((name) => name === args[0])
  if (!command && args[0] && !args[0].startsWith('-')) throw usageError(`Unknown command: ${args[0]}.`, USAGE)
  const { values } = parseArguments(command ? args.slice(1) : args, OPTIONS, USAGE)
  return { command: command ?? ('compare' as const), values }
}

function requireKnown(option: string, names: string[] | undefined, isKnown: (name: string) => boolean): void {
  const unknown = names?.find((name) => !isKnown(name))
  if (unknown !== undefined) throw usageError(`${option} has an unknown name: ${unknown}.`, USAGE)
}

function parseInteger(name: string, text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new OperatorError(`--${name} takes a whole number, not ${text}.`)
  return Number(text)
}
