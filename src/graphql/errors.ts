import type { Request } from 'express'
import type { GraphQLError, GraphQLFormattedError } from 'graphql'
import { ApiError, type ErrorCode, toApiError } from '../errors.ts'
import { recordError } from '../http/error-handler.ts'
import type { Observe } from '../telemetry/observation.ts'
import { cleanMessage } from './request-errors.ts'

/** Maximum number of locations in an error: for a cycle of fragments, graphql-js reports each of them. */
const MAX_LOCATIONS = 10

/** An error with the code, message and status of the REST API. @param code of a request; undefined for an execution's */
export function toGraphQLError(
  error: GraphQLError,
  code: ErrorCode | undefined,
  observe: Observe,
  req: Request,
): GraphQLFormattedError {
  const { locations, path, originalError: thrown } = error
  const isRequestError = code && !(thrown instanceof ApiError)
  const mapped = isRequestError ? new ApiError(code, cleanMessage(error.message)) : toApiError(thrown)
  recordError(observe, mapped, req)
  const { fields } = mapped
  const extensions = { code: mapped.code, status: mapped.status, ...(fields && { fields }) }
  const shown = locations?.slice(0, MAX_LOCATIONS)
  return { message: mapped.message, ...(shown && { locations: shown }), ...(path && { path }), extensions }
}
