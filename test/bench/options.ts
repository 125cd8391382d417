import { parseArgs } from 'node:util'
import { variants } from './variants.ts'
import { workloads } from './workloads.ts'

const usage = `Usage: npm run bench -- [COMMAND] [OPTIONS]
  (no command)        the service against its peers, as ratios
  growth              pages of tables of 1 thousand rows, 100 thousand, and --rows when that is more, say 10000000
  overload            the service at 1, 3 and 10 times what it can do

  --rounds N          measurements of each, in turn (5)
  --seconds N         length of each (5)
  --warmup N          seconds of load right before each (3)
  --connections N     keep-alive connections (50)
  --rows N            animals in the table (100000)
  --workloads A,B     only workloads whose names begin so: ${workloads.map(({ name }) => name).join(', ')}
  --peers A,B         only these beside the service: ${variants.map(({ name }) => name).join(', ')}
  --svg               draws test/bench/result.svg`

/** The command-line arguments are invalid. */
export class UsageError extends Error {}

export type Options = ReturnType<typeof parseOptions>

/** @throws UsageError whose message is the usage */
export function parseOptions(args: string[]) {
  const { values, positionals } = parse(args)
  const [command = 'compare', ...rest] = positionals
  if (!isCommand(command) || rest.length) throw new UsageError(usage)
  const names = values.peers?.split(',')
  const unknown = names?.find((name) => !variants.some((variant) => variant.name === name))
  const beginnings = values.workloads?.split(',') ?? ['']
  const chosen = workloads.filter(({ name }) => beginnings.some((beginning) => name.startsWith(beginning)))
  if (unknown || !chosen.length) throw new UsageError(usage)
  return {
    command,
    rounds: parseInteger(values.rounds),
    seconds: parseInteger(values.seconds),
    warmup: parseInteger(values.warmup),
    connections: parseInteger(values.connections),
    rows: parseInteger(values.rows),
    workloads: chosen,
    variants: variants.filter(({ name, optional }) => name === 'service' || (names?.includes(name) ?? !optional)),
    svg: values.svg,
  }
}

function isCommand(text: string): text is 'compare' | 'growth' | 'overload' {
  return ['compare', 'growth', 'overload'].includes(text)
}

function parse(args: string[]) {
  const number = (value: string) => ({ type: 'string', default: value }) as const
  const options = {
    ...{ rounds: number('5'), seconds: number('5'), warmup: number('3') },
    ...{ connections: number('50'), rows: number('100000') },
    workloads: { type: 'string' },
    peers: { type: 'string' },
    svg: { type: 'boolean', default: false },
  } as const // so that each option's type is known
  try {
    return parseArgs({ args, allowPositionals: true, options })
  } catch {
    throw new UsageError(usage)
  }
}

function parseInteger(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new UsageError(usage)
  return Number(text)
}
