import { Environment, type Variables } from './environment.ts'
import { OperatorError } from './operator-error.ts'
import { readRegularFile } from './regular-file.ts'

export type Config = ReturnType<typeof toConfig>

interface TimeoutRule {
  /** The sum of these timeouts is less than the outer timeout. */
  inner: Extract<keyof Variables, `${string}_TIMEOUT_MS`>[]
  outer: Extract<keyof Variables, `${string}_TIMEOUT_MS`>
  allowEqual?: boolean
}

/** Inner timeouts expire before outer ones, so that the layer that knows the cause sends the response. */
const timeoutOrder: TimeoutRule[] = [
  { inner: ['DATABASE_LOCK_TIMEOUT_MS'], outer: 'DATABASE_STATEMENT_TIMEOUT_MS' },
  { inner: ['DATABASE_STATEMENT_TIMEOUT_MS'], outer: 'DATABASE_QUERY_TIMEOUT_MS' },
  {
    inner: ['DATABASE_CHECKOUT_TIMEOUT_MS', 'DATABASE_QUERY_TIMEOUT_MS'],
    outer: 'HANDLER_TIMEOUT_MS',
    allowEqual: true,
  },
  { inner: ['HANDLER_TIMEOUT_MS'], outer: 'REQUEST_TIMEOUT_MS' },
  { inner: ['HEADERS_TIMEOUT_MS'], outer: 'REQUEST_TIMEOUT_MS', allowEqual: true },
]

/** The message is one line that names every invalid variable. It contains no value that may be a secret. */
export class ConfigError extends OperatorError {
  constructor(message: string) {
    super(`Configuration: ${message}`)
  }
}

/** Reads the configuration from environment variables; an empty variable counts as unset. @throws ConfigError */
export function loadConfig(env: NodeJS.ProcessEnv): Config {
  const set = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ''))
  if (set.DATABASE_URL_FILE) set.DATABASE_URL ??= readSecret(set.DATABASE_URL_FILE)
  const { success, data, error } = Environment.safeParse(set)
  if (!success) {
    const problems = error.issues.map(({ path, message }) => `${String(path[0])} ${message}`)
    throw new ConfigError([...new Set(problems)].join('; ')) // a list has an issue for each wrong element
  }
  if (data.NODE_ENV === 'production' && !data.DATABASE_URL) {
    throw new ConfigError('DATABASE_URL must be set in production: the embedded database is for development')
  }
  if (data.TRUSTED_DOCUMENTS !== 'off' && !data.TRUSTED_DOCUMENTS_FILE) {
    throw new ConfigError('TRUSTED_DOCUMENTS_FILE must be set when TRUSTED_DOCUMENTS is not off')
  }
  if (data.METRICS_PORT === data.PORT) {
    throw new ConfigError(`METRICS_PORT must not equal PORT, which is ${data.PORT}`)
  }
  for (const { inner, outer, allowEqual } of timeoutOrder) {
    const sum = inner.reduce((total, name) => total + data[name], 0)
    if (sum < data[outer] || (allowEqual && sum === data[outer])) continue
    throw new ConfigError(
      `${outer} must be ${allowEqual ? 'at least' : 'more than'} ${inner.join(' + ')}, which is ${sum}`,
    )
  }
  return toConfig(data)
}

function toConfig(data: Variables) {
  return {
    production: data.NODE_ENV === 'production',
    port: data.PORT,
    host: data.HOST,
    workers: data.WORKERS,
    databaseUrl: data.DATABASE_URL,
    dataDir: data.DATA_DIR,
    databaseReplicaUrls: data.DATABASE_REPLICA_URLS,
    databasePoolSize: data.DATABASE_POOL_SIZE,
    migrateOnStart: data.MIGRATE_ON_START ?? !data.DATABASE_URL,
    environments: { production: data.PRODUCTION_URL, staging: data.STAGING_URL },
    corsOrigins: data.CORS_ORIGINS ?? (data.DATABASE_URL ? undefined : ('localhost' as const)),
    trustedDocuments: { mode: data.TRUSTED_DOCUMENTS, file: data.TRUSTED_DOCUMENTS_FILE },
    rateLimits: {
      points: data.RATE_LIMIT_POINTS,
      windowSeconds: data.RATE_LIMIT_WINDOW_S,
      shared: data.RATE_LIMIT_STORE === 'database',
      wrongKeys: data.RATE_LIMIT_WRONG_KEYS,
    },
    trustedProxies: data.TRUSTED_PROXIES,
    shedding: { queueLength: data.SHED_QUEUE_LENGTH, queueMs: data.SHED_QUEUE_MS, delayMs: data.SHED_DELAY_MS },
    streamLimits: { total: data.STREAM_LIMIT, perKey: data.STREAM_LIMIT_PER_KEY },
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
      streamWriteMs: data.STREAM_WRITE_TIMEOUT_MS,
    },
    logLevel: data.LOG_LEVEL,
    drainDelayMs: data.DRAIN_DELAY_MS,
    drainTimeoutMs: data.DRAIN_TIMEOUT_MS,
  }
}

const MAX_SECRET_BYTES = 65_536

/** Reads `DATABASE_URL_FILE`. */
function readSecret(file: string): string {
  try {
    return readRegularFile(file, MAX_SECRET_BYTES).trim()
  } catch (error) {
    throw new ConfigError(`DATABASE_URL_FILE cannot be read: ${(error as Error).message}`) // ours, or of node:fs
  }
}
