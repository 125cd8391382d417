import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { baseAddress, flag, milliseconds, proxies, whole } from './values.ts'

/** Every variable that the service and its command lines read, each with the sentence that documents it. */
export const Environment = z.object({
  NODE_ENV: z
    .string()
    .default('development')
    .describe('`production` refuses to start without `DATABASE_URL`, and logs JSON lines.'),
  PORT: whole(0, 65535).prefault('4000').describe('TCP port to listen on; 0 takes any free one.'),
  HOST: z.string().default('0.0.0.0').describe('Address to listen on.'),
  WORKERS: whole(1, 64).prefault('1').describe('Processes that share the port: one for each core, for speed.'),
  DATABASE_URL: z
    .string()
    .refine(
      (url) => /^postgres(ql)?:\/\//.test(url) && URL.canParse(url),
      'must be a URL that begins with postgresql://',
    )
    .optional()
    .describe('PostgreSQL 14 or newer. Unset, an embedded PostgreSQL is kept in `DATA_DIR`.'),
  DATABASE_URL_FILE: z.string().optional().describe('A file that holds it, as containers are given secrets.'),
  DATA_DIR: z.string().default('.data').describe('Folder of the embedded PostgreSQL and of the development key.'),
  DATABASE_POOL_SIZE: whole(1, 500)
    .prefault('10')
    .describe(
      'Most connections to PostgreSQL that the requests of one process share. Readiness has one more, shared budgets two.',
    ),
  MIGRATE_ON_START: flag
    .optional()
    .describe(
      'Apply pending migrations at start. Unset: `true` on the embedded database, `false` with `DATABASE_URL`.',
    ),
  PRODUCTION_URL: baseAddress
    .optional()
    .describe('Base address of production, ending in `/v1`. With a longer path, `Link` and `Location` are relative.'),
  STAGING_URL: baseAddress.optional().describe('Base address of staging, with the same effect.'),
  TRUSTED_DOCUMENTS: z
    .enum(['off', 'allow', 'only'])
    .default('off')
    .describe('GraphQL operations known by hash: none, beside any others, or nothing else.'),
  TRUSTED_DOCUMENTS_FILE: z.string().optional().describe('Their manifest, which `npm run documents` makes.'),
  RATE_LIMIT_POINTS: whole(0, 100_000_000)
    .prefault('60000')
    .describe('Budget of a key: a REST call costs 1, a GraphQL operation its cost. 0 sets no limit.'),
  RATE_LIMIT_WINDOW_S: whole(1, 86_400).prefault('60').describe('Seconds after which a budget is whole again.'),
  RATE_LIMIT_STORE: z
    .enum(['memory', 'database'])
    .default('memory')
    .describe(
      'Where budgets are kept: in each process, or shared by all through the database, for a query or two a request.',
    ),
  RATE_LIMIT_WRONG_KEYS: whole(0, 100_000_000)
    .prefault('12000')
    .describe('Requests with a wrong key that an address (IPv6: its /64) may send in a window. 0 sets no limit.'),
  TRUSTED_PROXIES: proxies
    .optional()
    .describe(
      'Addresses or networks (`10.0.0.0/8, loopback`) whose `X-Forwarded-For` says who the client is; else nobody is believed.',
    ),
  SHED_QUEUE_LENGTH: whole(0, 1_000_000)
    .prefault('1000')
    .describe(
      'More requests than that waiting for a connection to the database, and new ones get 503 at once. 0: never.',
    ),
  SHED_QUEUE_MS: whole(0, 600_000)
    .prefault('500')
    .describe(
      'A new one that would wait for longer than that, by what the database gets through of late, likewise. 0: never.',
    ),
  SHED_DELAY_MS: whole(0, 600_000)
    .prefault('500')
    .describe('The event loop further behind than that, likewise. 0: never.'),
  METRICS_PORT: whole(1, 65535)
    .optional()
    .describe(
      'Port for `/metrics` without a key, for an internal network. Unset: on `PORT`, for keys with `metrics:read`.',
    ),
  LOG_LEVEL: z
    .enum(['fatal', 'error', 'warn', 'info', 'debug', 'silent'])
    .default('info')
    .describe('Least level that is logged; `info` has one line for each request.'),
  DATABASE_LOCK_TIMEOUT_MS: milliseconds.prefault('1000').describe('Longest wait for a lock in the database.'),
  DATABASE_STATEMENT_TIMEOUT_MS: milliseconds.prefault('2000').describe('Longest statement; more than the former.'),
  DATABASE_QUERY_TIMEOUT_MS: milliseconds
    .prefault('3000')
    .describe('Longest wait for the answer to a statement; more than the former.'),
  DATABASE_CHECKOUT_TIMEOUT_MS: milliseconds
    .prefault('1000')
    .describe('Longest wait for a connection; with the former no more than the next.'),
  HANDLER_TIMEOUT_MS: milliseconds
    .prefault('5000')
    .describe('Longest that a request, once here, waits for the database in all; less than the next.'),
  REQUEST_TIMEOUT_MS: milliseconds
    .prefault('15000')
    .describe('Longest that a request may take to arrive whole, else 408.'),
  HEADERS_TIMEOUT_MS: milliseconds
    .prefault('10000')
    .describe('Longest that its headers may take; no more than the former.'),
  KEEP_ALIVE_TIMEOUT_MS: milliseconds
    .prefault('65000')
    .describe('Longest that a connection stays open unused: more than a balancer keeps its own.'),
  DRAIN_DELAY_MS: whole(0, 600_000)
    .prefault('0')
    .describe('After SIGTERM, milliseconds to go on serving while `/readyz` says 503, so that balancers look away.'),
  DRAIN_TIMEOUT_MS: whole(0, 600_000)
    .prefault('10000')
    .describe('After that, milliseconds that requests in flight get to complete before their connections are cut.'),
})

export type Config = ReturnType<typeof loadConfig>

/**
 * How the timeouts nest: each layer gives up before the one around it, so that the answer comes from the layer that
 * knows why. Each line: what is less, what is more, and whether they may be the same.
 */
const nesting: [less: (keyof Timeouts)[], more: keyof Timeouts, orEqual?: 'or equal'][] = [
  [['DATABASE_LOCK_TIMEOUT_MS'], 'DATABASE_STATEMENT_TIMEOUT_MS'],
  [['DATABASE_STATEMENT_TIMEOUT_MS'], 'DATABASE_QUERY_TIMEOUT_MS'],
  [['DATABASE_CHECKOUT_TIMEOUT_MS', 'DATABASE_QUERY_TIMEOUT_MS'], 'HANDLER_TIMEOUT_MS', 'or equal'],
  [['HANDLER_TIMEOUT_MS'], 'REQUEST_TIMEOUT_MS'],
  [['HEADERS_TIMEOUT_MS'], 'REQUEST_TIMEOUT_MS', 'or equal'],
]

/** A variable has a wrong value. The message is one readable line that names it. */
export class ConfigError extends Error {}
type Variables = z.infer<typeof Environment>
/** Every time after which something is given up, in milliseconds. */
type Timeouts = Pick<Variables, Extract<keyof Variables, `${string}_TIMEOUT_MS`>>

/**
 * Reads the configuration from an environment; an empty variable counts as unset.
 * @throws ConfigError naming every variable that is wrong
 */
export function loadConfig(env: NodeJS.ProcessEnv) {
  const given = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ''))
  if (given.DATABASE_URL_FILE && !given.DATABASE_URL) given.DATABASE_URL = readSecret('DATABASE_URL_FILE', given)
  const { success, data, error } = Environment.safeParse(given)
  if (!success) throw new ConfigError(error.issues.map((i) => `${String(i.path[0])} ${i.message}`).join('; '))
  if (data.NODE_ENV === 'production' && !data.DATABASE_URL) {
    throw new ConfigError('DATABASE_URL must be set in production: the embedded database is for development')
  }
  if (data.TRUSTED_DOCUMENTS !== 'off' && !data.TRUSTED_DOCUMENTS_FILE) {
    throw new ConfigError('TRUSTED_DOCUMENTS_FILE must be set when TRUSTED_DOCUMENTS is not off')
  }
  for (const [less, more, orEqual] of nesting) {
    const sum = less.reduce((total, name) => total + data[name], 0)
    if (sum < data[more] || (orEqual && sum === data[more])) continue
    throw new ConfigError(`${more} must be ${orEqual ? 'at least' : 'more than'} ${less.join(' + ')}, which is ${sum}`)
  }
  return {
    production: data.NODE_ENV === 'production',
    port: data.PORT,
    host: data.HOST,
    workers: data.WORKERS,
    databaseUrl: data.DATABASE_URL,
    dataDir: data.DATA_DIR,
    databasePoolSize: data.DATABASE_POOL_SIZE,
    migrateOnStart: data.MIGRATE_ON_START ?? !data.DATABASE_URL,
    environments: { production: data.PRODUCTION_URL, staging: data.STAGING_URL },
    trustedDocuments: { mode: data.TRUSTED_DOCUMENTS, file: data.TRUSTED_DOCUMENTS_FILE },
    rateLimits: {
      points: data.RATE_LIMIT_POINTS,
      windowSeconds: data.RATE_LIMIT_WINDOW_S,
      shared: data.RATE_LIMIT_STORE === 'database',
      wrongKeys: data.RATE_LIMIT_WRONG_KEYS,
    },
    trustedProxies: data.TRUSTED_PROXIES,
    shedding: { queueLength: data.SHED_QUEUE_LENGTH, queueMs: data.SHED_QUEUE_MS, delayMs: data.SHED_DELAY_MS },
    metricsPort: data.METRICS_PORT,
    timeouts: {
      lockMs: data.DATABASE_LOCK_TIMEOUT_MS,
      statementMs: data.DATABASE_STATEMENT_TIMEOUT_MS,
      queryMs: data.DATABASE_QUERY_TIMEOUT_MS,
      checkoutMs: data.DATABASE_CHECKOUT_TIMEOUT_MS,
      handlerMs: data.HANDLER_TIMEOUT_MS,
      requestMs: data.REQUEST_TIMEOUT_MS,
      headersMs: data.HEADERS_TIMEOUT_MS,
      keepAliveMs: data.KEEP_ALIVE_TIMEOUT_MS,
    },
    logLevel: data.LOG_LEVEL,
    drainDelayMs: data.DRAIN_DELAY_MS,
    drainTimeoutMs: data.DRAIN_TIMEOUT_MS,
  }
}

function readSecret(name: string, env: Record<string, string | undefined>): string {
  try {
    return readFileSync(env[name] ?? '', 'utf8').trim()
  } catch (error) {
    throw new ConfigError(`${name} cannot be read: ${(error as Error).message}`) // of Node's file system
  }
}

/** Version of the interface, from package.json beside `src` or `dist`. */
export const version: string = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')).version
