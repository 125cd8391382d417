import { type ExecutionResult, GraphQLError } from 'graphql'
import { ApiError, type ErrorCode } from '../errors.ts'

/** In characters. */
const MAX_MESSAGE_LENGTH = 500

/** The codes of Yoga that are this service's, too. */
const CODES = ['GRAPHQL_PARSE_FAILED', 'GRAPHQL_VALIDATION_FAILED'] as const

/** A request that is rejected before execution, with one code for all of its errors. */
export class GraphQLRequestError extends ApiError {
  readonly errors: readonly GraphQLError[]

  constructor(code: ErrorCode, ...errors: GraphQLError[]) {
    super(code, errors[0] && cutMessage(errors[0].message))
    this.errors = errors
  }
}

/**
 * Why a request has a result without `data`: what a plugin has thrown, or errors of graphql-js, which Yoga gives their code.
 * Those without are about variables.
 */
export function toRequestError({ errors = [] }: ExecutionResult): Error {
  const [first] = errors
  if (!first) return new Error('The pipeline has no result.')
  const { extensions, originalError: thrown, path } = first
  if (thrown && !(thrown instanceof GraphQLError) && !path) return thrown
  return new GraphQLRequestError(CODES.find((code) => code === extensions.code) ?? 'INVALID_ARGUMENT', ...errors)
}

/** A message of graphql-js, which may repeat a value of any length. */
export function cutMessage(message: string): string {
  return message.slice(0, MAX_MESSAGE_LENGTH)
}
