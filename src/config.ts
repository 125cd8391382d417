import { readFileSync } from 'node:fs'
import { z } from 'zod'

const flag = z.enum(['true', 'false']).transform((text) => text === 'true')
const whole = (min: number, max: number) =>
  z
    .string()
    .regex(/^\d{1,9}$/, `must be a whole number from ${min} to ${max}`)
    .transform(Number)
    .refine((n) => n >= min && n <= max, `must be a whole number from ${min} to ${max}`)

const baseAddress = z
  .string()
  .regex(/^https:\/\/[^\s?#]+\/v1$/, 'must be a URL that begins with https:// and ends with /v1')

/** Every variable that the service and its command lines read, each with the sentence that documents it. */
export const Environment = z.object({
  NODE_ENV: z
    .string()
    .default('development')
    .describe('`production` refuses to start without `DATABASE_URL`, and logs JSON lines.'),
  PORT: whole(0, 65535).prefault('4000').describe('TCP port to listen on; 0 takes any free one.'),
  HOST: z.string().default('0.0.0.0').describe('Address to listen on.'),
  DATABASE_URL: z
    .string()
    .refine(
      (url) => /^postgres(ql)?:\/\//.test(url) && URL.canParse(url),
      'must be a URL that begins with postgresql://',
    )
    .optional()
    .describe('PostgreSQL 14 or newer. Unset, an embedded PostgreSQL is kept in `DATA_DIR`.'),
  DATA_DIR: z.string().default('.data').describe('Folder of the embedded PostgreSQL and of the development key.'),
  DATABASE_POOL_SIZE: whole(1, 500).prefault('10').describe('Most connections to PostgreSQL of one process.'),
  MIGRATE_ON_START: flag
    .optional()
    .describe(
      'Apply pending migrations at start. Unset: `true` on the embedded database, `false` with `DATABASE_URL`.',
    ),
  PRODUCTION_URL: baseAddress
    .optional()
    .describe('Base address of production, ending in `/v1`, for the API reference.'),
  STAGING_URL: baseAddress.optional().describe('Base address of staging, likewise.'),
  TRUSTED_DOCUMENTS: z
    .enum(['off', 'allow', 'only'])
    .default('off')
    .describe('GraphQL operations known by hash: none, beside any others, or nothing else.'),
  TRUSTED_DOCUMENTS_FILE: z.string().optional().describe('Their manifest, which `npm run documents` makes.'),
  LOG_LEVEL: z
    .enum(['fatal', 'error', 'warn', 'info', 'debug', 'silent'])
    .default('info')
    .describe('Least level that is logged; `info` has one line for each request.'),
  DRAIN_DELAY_MS: whole(0, 600_000)
    .prefault('0')
    .describe('After SIGTERM, milliseconds to go on serving while `/readyz` says 503, so that balancers look away.'),
  DRAIN_TIMEOUT_MS: whole(0, 600_000)
    .prefault('10000')
    .describe('After that, milliseconds that requests in flight get to complete before their connections are cut.'),
})

export type Config = ReturnType<typeof loadConfig>

/** A variable has a wrong value. The message is one readable line that names it. */
export class ConfigError extends Error {}

/**
 * Reads the configuration from an environment; an empty variable counts as unset.
 * @throws ConfigError naming every variable that is wrong
 */
export function loadConfig(env: NodeJS.ProcessEnv) {
  const given = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ''))
  const { success, data, error } = Environment.safeParse(given)
  if (!success) throw new ConfigError(error.issues.map((i) => `${i.path.join('.')} ${i.message}`).join('; '))
  if (data.NODE_ENV === 'production' && !data.DATABASE_URL) {
    throw new ConfigError('DATABASE_URL must be set in production: the embedded database is for development')
  }
  if (data.TRUSTED_DOCUMENTS !== 'off' && !data.TRUSTED_DOCUMENTS_FILE) {
    throw new ConfigError('TRUSTED_DOCUMENTS_FILE must be set when TRUSTED_DOCUMENTS is not off')
  }
  return {
    production: data.NODE_ENV === 'production',
    port: data.PORT,
    host: data.HOST,
    databaseUrl: data.DATABASE_URL,
    dataDir: data.DATA_DIR,
    databasePoolSize: data.DATABASE_POOL_SIZE,
    migrateOnStart: data.MIGRATE_ON_START ?? !data.DATABASE_URL,
    environments: { production: data.PRODUCTION_URL, staging: data.STAGING_URL },
    trustedDocuments: { mode: data.TRUSTED_DOCUMENTS, file: data.TRUSTED_DOCUMENTS_FILE },
    logLevel: data.LOG_LEVEL,
    drainDelayMs: data.DRAIN_DELAY_MS,
    drainTimeoutMs: data.DRAIN_TIMEOUT_MS,
  }
}

/** Version of the interface, from package.json beside `src` or `dist`. */
export const version: string = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')).version
