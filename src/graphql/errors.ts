import type { Request } from 'express'
import { GraphQLError, type GraphQLFormattedError } from 'graphql'
import type { Logger } from 'pino'
import { ApiError, type ErrorCode, toApiError } from '../errors.ts'
import { errorHandler, logError } from '../http/error-handler.ts'

/** Errors before a document is run, in the shape and the media type of a GraphQL answer. */
export function graphqlErrorHandler(log: Logger) {
  return errorHandler(
    log,
    ({ code, message, status }) => ({ errors: [{ message, extensions: { code, status } }] }),
    (req) => accepted(req) || 'application/json',
  )
}

/** The media type that the client likes best of those of GraphQL. */
function accepted(req: Request): string | false {
  return req.accepts(['application/json', 'application/graphql-response+json'])
}

/** The media type of the answer, and whether the client named it or only lets anything pass. */
export function negotiate(req: Request): { type: string; named: boolean } {
  const type = accepted(req)
  if (!type) {
    throw new ApiError('NOT_ACCEPTABLE', 'The answer is application/graphql-response+json or application/json.')
  }
  return { type, named: (req.headers.accept ?? '').includes(type) }
}

/** An error names at most this many places of the document: a cycle of fragments has one for each. */
const MAX_LOCATIONS = 10

/** An error of the engine as the client sees it: code, message and status as REST has them, with place and path. */
export function toGraphQLError(
  error: GraphQLError,
  code: ErrorCode | undefined,
  log: Logger,
  req: Request,
): GraphQLFormattedError {
  const { locations, path, originalError: thrown } = error
  const ours = code === undefined && thrown && !(thrown instanceof GraphQLError)
  // The engine suggests names ("Did you mean"), which nobody is told, and repeats what was sent, however long it is.
  const message = error.message.replace(/ Did you mean .*$/s, '').slice(0, 500)
  const mapped = ours ? toApiError(thrown) : new ApiError(code ?? 'INVALID_ARGUMENT', message)
  logError(log, mapped, req)
  const extensions = { code: mapped.code, status: mapped.status }
  const shown = locations?.slice(0, MAX_LOCATIONS)
  return { message: mapped.message, ...(shown && { locations: shown }), ...(path && { path }), extensions }
}
