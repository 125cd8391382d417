import { z } from 'zod'
import { databaseFailure } from './database/failure.ts'

/** Every code that the service answers, with its HTTP status: Google's canonical codes (AIP-193) where one fits. */
export const statusOf = {
  INVALID_ARGUMENT: 400,
  GRAPHQL_PARSE_FAILED: 400,
  GRAPHQL_VALIDATION_FAILED: 400,
  UNAUTHENTICATED: 401,
  PERMISSION_DENIED: 403,
  NOT_FOUND: 404,
  METHOD_NOT_ALLOWED: 405,
  NOT_ACCEPTABLE: 406,
  REQUEST_TIMEOUT: 408,
  ABORTED: 409,
  GONE: 410,
  PAYLOAD_TOO_LARGE: 413,
  UNSUPPORTED_MEDIA_TYPE: 415,
  EXPECTATION_FAILED: 417,
  IDEMPOTENCY_KEY_REUSED: 422,
  RESOURCE_EXHAUSTED: 429,
  HEADERS_TOO_LARGE: 431,
  INTERNAL: 500,
  UNAVAILABLE: 503,
  DEADLINE_EXCEEDED: 504,
} as const

export type ErrorCode = keyof typeof statusOf

/** An error as both faces tell it: code, message and status (specification §7), and headers where HTTP asks for some. */
export class ApiError extends Error {
  readonly code: ErrorCode
  readonly status: number
  readonly headers: Record<string, string>

  constructor(code: ErrorCode, message: string, options: { headers?: Record<string, string>; cause?: unknown } = {}) {
    super(message, { cause: options.cause })
    this.code = code
    this.status = statusOf[code]
    this.headers = options.headers ?? (code === 'UNAVAILABLE' ? { 'Retry-After': '1' } : {})
  }

  /** The Error body of the specification: these three members and nothing else. */
  get body() {
    return { code: this.code, message: this.message, status: this.status }
  }
}

/**
 * The one error mapping: whatever was thrown, on whichever face, becomes an ApiError here.
 * @param operation whether a write was under way: only then may a broken connection mean "outcome unknown" (504)
 */
export function toApiError(error: unknown, operation: 'read' | 'write' = 'read'): ApiError {
  if (error instanceof ApiError) return error
  if (error instanceof z.ZodError) return new ApiError('INVALID_ARGUMENT', describeIssues(error.issues))
  const failure = databaseFailure(error)
  if (failure) return noAnswer(failure === 'connection-lost' ? operation : 'read', error)
  return fromHttp(error) ?? new ApiError('INTERNAL', 'Something went wrong on our side.', { cause: error })
}

/** The database gave no answer: after a write was sent nobody knows whether it happened; else nothing did. */
export function noAnswer(operation: 'read' | 'write', cause?: unknown): ApiError {
  return operation === 'write'
    ? new ApiError('DEADLINE_EXCEEDED', 'The outcome of the write is unknown: retry with the same Idempotency-Key.', {
        cause,
      })
    : new ApiError('UNAVAILABLE', 'The database is not available at the moment. Nothing was changed.', { cause })
}

/** "name: must be …; categoryId: must be …": every field that is wrong, in the order of the schema. */
function describeIssues(issues: z.core.$ZodIssue[]): string {
  return issues.map(({ path, message }) => (path.length ? `${path.join('.')}: ${message}` : message)).join('; ')
}

/** What Express's router throws for a path that it cannot decode. */
function fromHttp(error: unknown): ApiError | undefined {
  if (!(error instanceof URIError)) return undefined
  return new ApiError('INVALID_ARGUMENT', 'The address has a broken percent escape.', { cause: error })
}
