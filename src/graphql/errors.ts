import type { Request } from 'express'
import { type ExecutionResult, GraphQLError } from 'graphql'
import { ApiError, type ErrorCode, ERRORS, toApiError } from '../errors.ts'
import { ERROR_OPTIONS } from './document-limits.ts'
import { recordError } from '../http/error-handler.ts'
import type { Observe } from '../telemetry/observation.ts'

/** The longest message, in characters. A message of graphql-js may repeat a value of any length. */
const MAX_MESSAGE_LENGTH = 500

export const isErrorCode = (code: unknown): code is ErrorCode => typeof code === 'string' && Object.hasOwn(ERRORS, code)

/** A request that is rejected before execution, with one code for its errors, of which the first five are reported. */
export class GraphQLRequestError extends ApiError {
  readonly errors: readonly GraphQLError[]

  constructor(code: ErrorCode, ...errors: GraphQLError[]) {
    super(code, errors[0]?.message)
    this.errors = errors.slice(0, ERROR_OPTIONS.maxErrors) // graphql-js adds one that says that there are more
  }
}

/** The error of a result without `data`: of a plugin, or of graphql-js, whose errors without a code are about variables. */
export function toRequestError({ errors = [] }: ExecutionResult): Error {
  const [first] = errors
  if (!first) return new Error('The pipeline has no result.')
  const { extensions, originalError: thrown, path } = first
  const code = isErrorCode(extensions.code) ? extensions.code : undefined
  const hasOwnCode = code && !(thrown instanceof ApiError) // a plugin may have wrapped the error of a library
  if (thrown && !(thrown instanceof GraphQLError) && !path && !hasOwnCode) return thrown
  return new GraphQLRequestError(code ?? 'INVALID_ARGUMENT', ...errors)
}

type ReportedError = Pick<GraphQLError, 'message' | 'originalError'> & Partial<GraphQLError>

/** Maximum number of locations in an error: for a cycle of fragments, graphql-js reports each of them. */
const MAX_LOCATIONS = 10

/** The code of an error that graphql-js or a plugin has thrown; undefined for an error of the service. */
function codeOf(thrown: unknown, code: unknown): ErrorCode | undefined {
  if (isErrorCode(code)) return code // of a plugin
  // In an execution, an error of graphql-js is about arguments if it has nodes; if not, about a value of the service.
  return thrown instanceof GraphQLError && thrown.nodes ? 'INVALID_ARGUMENT' : undefined
}

/** An error with the code, message and status of the REST API. @param code of a rejected request; undefined in an execution */
export function toGraphQLError(error: ReportedError, code: ErrorCode | undefined, observe: Observe, req: Request) {
  const { originalError: thrown = error, path } = error
  const clientCode = thrown instanceof ApiError ? undefined : (code ?? codeOf(thrown, error.extensions?.code))
  const text = error.message.slice(0, MAX_MESSAGE_LENGTH)
  const mapped = clientCode ? new ApiError(clientCode, text, { cause: thrown }) : toApiError(thrown)
  recordError(observe, mapped, req)
  const { message, fields, status } = mapped
  const locations = error.locations?.slice(0, MAX_LOCATIONS)
  return { message, locations, path, extensions: { code: mapped.code, status, fields } } // JSON omits what is undefined
}

/** The errors of a response without data. */
export function toErrors(error: ApiError, observe: Observe, req: Request) {
  const all = error instanceof GraphQLRequestError ? error.errors : [{ message: error.message, originalError: error }]
  return all.map((each) => toGraphQLError(each, error.code, observe, req))
}
