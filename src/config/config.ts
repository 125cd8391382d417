import { readFileSync } from 'node:fs'
import { Environment } from './environment.ts'
import { OperatorError } from '../lib/operator-error.ts'

export type Config = ReturnType<typeof loadConfig>

/** @param problem one line that names every invalid variable, without a value that may be a secret */
function invalidConfigError(problem: string): OperatorError {
  return new OperatorError(`Configuration: ${problem}`)
}

/** Reads the configuration from environment variables; an empty variable counts as unset. @throws OperatorError */
export function loadConfig(env: NodeJS.ProcessEnv) {
  const set = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ''))
  if (set.DATABASE_URL_FILE) set.DATABASE_URL ??= readSecret(set.DATABASE_URL_FILE)
  const { success, data, error } = Environment.safeParse(set)
  if (!success) {
    const nameOf = (name: unknown) =>
      name === 'DATABASE_URL' && !env[name] ? 'The content of DATABASE_URL_FILE' : String(name)
    const problems = error.issues.map(({ path, message }) => `${nameOf(path[0])} ${message}`)
    throw invalidConfigError([...new Set(problems)].join('; ')) // each wrong element of a list has an issue of its own
  }
  if (data.NODE_ENV === 'production' && !data.DATABASE_URL) {
    throw invalidConfigError('DATABASE_URL must be set in production: the embedded database is for development')
  }
  if (data.TRUSTED_DOCUMENTS !== 'off' && !data.TRUSTED_DOCUMENTS_FILE) {
    throw invalidConfigError('TRUSTED_DOCUMENTS_FILE must be set when TRUSTED_DOCUMENTS is not off')
  }
  if (!data.OIDC_ISSUER !== !data.OIDC_AUDIENCE) {
    throw invalidConfigError('OIDC_ISSUER and OIDC_AUDIENCE must be set together')
  }
  if (data.HANDLER_TIMEOUT_MS >= data.REQUEST_TIMEOUT_MS) {
    const { HANDLER_TIMEOUT_MS: handlerMs, REQUEST_TIMEOUT_MS: requestMs } = data
    throw invalidConfigError(`HANDLER_TIMEOUT_MS (${handlerMs}) must be less than REQUEST_TIMEOUT_MS (${requestMs})`)
  }
  return {
    ...data,
    MIGRATE_ON_START: data.MIGRATE_ON_START ?? !data.DATABASE_URL,
    CORS_ORIGINS: data.CORS_ORIGINS ?? (data.DATABASE_URL ? undefined : ('localhost' as const)),
  }
}

function readSecret(file: string): string {
  try {
    return readFileSync(file, 'utf8').trim()
  } catch (error) {
    throw invalidConfigError(`DATABASE_URL_FILE cannot be read: ${(error as Error).message}`) // node:fs throws only Errors
  }
}
