import { z } from 'zod'
import { databaseFailure, hasCode, isIdTaken, isSchemaOutdated, permissionDenied } from './database/failures.ts'

/** Every error code (specification §7): Google's (AIP-193) where one fits. The description is the default message. */
export const ERRORS = {
  INVALID_ARGUMENT: {
    status: 400,
    description: 'A parameter or the body is invalid; the message names up to 20 fields.',
  },
  GRAPHQL_PARSE_FAILED: { status: 400, description: 'The GraphQL document has a syntax error or too many tokens.' },
  GRAPHQL_VALIDATION_FAILED: { status: 400, description: 'The document does not match the schema or exceeds a limit.' },
  UNAUTHENTICATED: { status: 401, description: 'The API key or access token is missing or invalid.' },
  PERMISSION_DENIED: { status: 403, description: 'The API key or access token lacks the required scope.' },
  NOT_FOUND: { status: 404, description: 'Nothing has this id.' },
  METHOD_NOT_ALLOWED: { status: 405, description: 'The resource does not support the method.' },
  NOT_ACCEPTABLE: { status: 406, description: 'No media type in `Accept` is supported.' },
  REQUEST_TIMEOUT: { status: 408, description: 'The request took too long to arrive.' },
  ABORTED: { status: 409, description: 'A request with the same Idempotency-Key is in flight.' },
  GONE: { status: 410, description: 'The operation was removed.' },
  PAYLOAD_TOO_LARGE: { status: 413, description: 'The body is larger than 64 KiB.' },
  UNSUPPORTED_MEDIA_TYPE: { status: 415, description: 'The body is not application/json in UTF-8, or is compressed.' },
  EXPECTATION_FAILED: { status: 417, description: 'The only expectation supported is 100-continue.' },
  IDEMPOTENCY_KEY_REUSED: { status: 422, description: 'The Idempotency-Key was used with another body.' },
  RESOURCE_EXHAUSTED: { status: 429, description: 'A limit of the client or of its IP address is exceeded.' },
  HEADERS_TOO_LARGE: { status: 431, description: 'The headers are larger than 16 KiB.' },
  INTERNAL: { status: 500, description: 'Internal error. The log has the cause.' },
  UNAVAILABLE: { status: 503, description: 'The request was not executed: safe to retry.' },
  DEADLINE_EXCEEDED: { status: 504, description: 'Outcome of the write unknown: retry with the same Idempotency-Key.' },
} as const satisfies Record<string, { status: number; description: string }>

export type ErrorCode = keyof typeof ERRORS

/** Maximum number of wrong members in an error: a body may have any number of them. */
const MAX_FIELDS = 20

/** A wrong member of a request: the names that lead to it, outermost first, and why it is wrong. */
export interface FieldError {
  path: PropertyKey[]
  message: string
}

/** The codes after which a client may soon send the same request again: `Retry-After` is 1 by default. */
const RETRYABLE = new Set<ErrorCode>(['ABORTED', 'RESOURCE_EXHAUSTED', 'UNAVAILABLE'])

/**
 * An error as both APIs return it (specification §7), with the headers that HTTP requires. An error that is thrown for
 * many requests is created once, as a constant: capturing a stack trace takes a sixth of the time of a rejection.
 */
export class ApiError extends Error {
  readonly code: ErrorCode
  readonly status: number
  readonly headers: Record<string, string>
  /** The wrong members of the request, for INVALID_ARGUMENT. A GraphQL error has them in `extensions`. */
  readonly fields: FieldError[] | undefined

  /** @param message the description of the code by default */
  constructor(
    code: ErrorCode,
    message: string = ERRORS[code].description,
    options: { headers?: Record<string, string>; fields?: FieldError[]; cause?: unknown } = {},
  ) {
    super(message, { cause: options.cause })
    this.code = code
    this.fields = options.fields
    this.status = ERRORS[code].status
    this.headers = options.headers ?? (RETRYABLE.has(code) ? { 'Retry-After': '1' } : {})
  }

  /** The body of REST: these three members and nothing else (specification §7). */
  get body() {
    return { code: this.code, message: this.message, status: this.status }
  }
}

/** Maps what either API throws. @param options.mayHaveExecuted whether a write was sent: then a lost connection is a 504 */
export function toApiError(error: unknown, { mayHaveExecuted = false } = {}): ApiError {
  if (error instanceof ApiError) return error
  if (error instanceof z.ZodError) return invalidArgumentError(error.issues)
  const failure = databaseFailure(error)
  if (failure === 'connection-lost' && mayHaveExecuted) return outcomeUnknownError(error)
  const refusal = refusalOf(error)
  if (failure || refusal) return databaseUnavailableError(error, refusal)
  if (error instanceof URIError) {
    // Express's router throws it for a path that it cannot decode.
    return new ApiError('INVALID_ARGUMENT', 'The URL contains an invalid percent-encoding.', { cause: error })
  }
  return new ApiError('INTERNAL', 'Internal server error.', { cause: error })
}

const NO_ANSWER = 'The database did not answer in time'

/** Why a database that is available has not executed a statement; undefined for all other errors. */
function refusalOf(error: unknown): string | undefined {
  if (hasCode(error, '57014')) return NO_ANSWER // statement_timeout, or an administrator cancelled it
  if (hasCode(error, '55P03')) return 'A lock in the database was not released in time' // lock_timeout
  if (isSchemaOutdated(error)) return 'The database schema is out of date'
  if (permissionDenied(error)) return 'The service lacks a right in the database'
  if (isIdTaken(error)) return 'The next id is in use already'
  return undefined
}

/** A read failed, or a write was certainly not executed. */
function databaseUnavailableError(cause: unknown, reason = 'The database is not available'): ApiError {
  return new ApiError('UNAVAILABLE', `${reason}. Nothing was changed.`, { cause })
}

/** A read, or a write that was not sent, has waited for the database until the deadline of its request. */
export const noAnswerError = (cause: unknown) => databaseUnavailableError(cause, NO_ANSWER)

export function outcomeUnknownError(cause: unknown): ApiError {
  const message = 'The outcome of the write is unknown: retry with the same Idempotency-Key.'
  return new ApiError('DEADLINE_EXCEEDED', message, { cause })
}

/** Its message is "name: must be …; categoryId: must be …". @param argument begins the paths of the fields, in GraphQL */
export function invalidArgumentError(issues: FieldError[], argument: string[] = []): ApiError {
  const fields = issues.slice(0, MAX_FIELDS)
  const texts = fields.map(({ path, message }) => (path.length ? `${path.join('.')}: ${message}` : message))
  return new ApiError('INVALID_ARGUMENT', texts.join('; '), {
    fields: fields.map(({ path, message }) => ({ path: [...argument, ...path], message })),
  })
}
