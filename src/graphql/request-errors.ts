import { GraphQLError } from 'graphql'
import { ApiError, type ErrorCode } from '../errors.ts'

/** A request that is rejected before execution, with one code for all of its errors. */
export class GraphQLRequestError extends ApiError {
  readonly errors: readonly GraphQLError[]

  constructor(code: ErrorCode, ...errors: GraphQLError[]) {
    super(code, errors[0] && cleanMessage(errors[0].message))
    this.errors = errors
  }
}

/** The arguments of a field or of a directive cannot be coerced. */
class ArgumentError extends GraphQLRequestError {
  /** Where graphql-js locates the error. */
  readonly nodes

  constructor(error: GraphQLError) {
    super('INVALID_ARGUMENT', error)
    this.nodes = error.nodes
  }
}

/**
 * Coerces arguments. What graphql-js throws here is the client's fault, and elsewhere in an execution the service's: a value
 * that cannot be serialized has an error of the same class.
 */
export function coerceArguments<T>(coerce: () => T): T {
  try {
    return coerce()
  } catch (error) {
    throw error instanceof GraphQLError ? new ArgumentError(error) : error
  }
}

/** A message of graphql-js, which suggests names of the schema ("Did you mean"), and repeats values of any length. */
export function cleanMessage(message: string): string {
  return message.replace(/ Did you mean .*$/s, '').slice(0, 500)
}
