import { type Config, ConfigError, Environment, loadConfig } from '../config.ts'
import { EmbeddedPostgresError } from '../database/embedded.ts'
import { databaseFailure, isSchemaOutdated, ConnectionUnavailableError } from '../database/errors.ts'
import { DatabaseUrlError } from '../database/open.ts'
import { readTracingConfig } from '../telemetry/tracing-config.ts'

/** Something that the person at the terminal can put right; the message is one line. */
export class UsageError extends Error {}

/**
 * Runs a program with the configuration. A failure that a person can act on ends it with one line and exit code 1.
 * @param usage its arguments, which `--help` tells before the variables
 */
export async function runProgram(program: (config: Config) => Promise<void>, usage?: string): Promise<void> {
  try {
    if (process.argv.includes('--help')) {
      return console.log([...(usage ? [usage] : []), describeEnvironment()].join('\n\n'))
    }
    await program(loadConfig(process.env))
  } catch (error) {
    console.error(explain(error))
    process.exit(1)
  }
}

/** What the environment says of traces, in OpenTelemetry's own variables. */
export const traceSettings = () => readTracingConfig(process.env)

/** Every variable with its default and its meaning, for `--help`. */
export function describeEnvironment(): string {
  const variables = Object.entries(Environment.shape).map(([name, schema]) => {
    const value = schema.safeParse(undefined)
    const set = value.data === undefined ? '' : ` (${String(value.data)})`
    return `  ${name}${set}\n      ${schema.description?.replaceAll('`', '') ?? ''}`
  })
  return `Configuration is by environment variables; each with its default in parentheses:\n\n${variables.join('\n')}`
}

function explain(error: unknown): unknown {
  if (error instanceof ConfigError || error instanceof DatabaseUrlError) return `Configuration: ${error.message}`
  if (error instanceof EmbeddedPostgresError || error instanceof UsageError) return error.message
  if (!(error instanceof Error)) return error
  const { message, code }: NodeJS.ErrnoException = error instanceof ConnectionUnavailableError ? error.cause : error
  if (isSchemaOutdated(error)) return 'The database schema is behind: npm run migrate -- deploy'
  // Prisma begins with what it was doing; the last line says what is wrong.
  if (databaseFailure(error)) return `The database cannot be used: ${message.trim().split('\n').at(-1) || code}`
  return error.stack
}
