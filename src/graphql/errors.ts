import type { Request } from 'express'
import { GraphQLError, type GraphQLFormattedError } from 'graphql'
import { ApiError, type ErrorCode, toApiError } from '../errors.ts'
import { recordError } from '../http/error-handler.ts'
import type { Observe } from '../telemetry/observation.ts'
import { cutMessage } from './request-errors.ts'

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
  // In an execution, what graphql-js throws with nodes is about arguments. Without, it is about a value of the service.
  const ofClient = code ?? (thrown instanceof GraphQLError && thrown.nodes ? 'INVALID_ARGUMENT' : undefined)
  const isOwn = !ofClient || thrown instanceof ApiError
  const mapped = isOwn ? toApiError(thrown) : new ApiError(ofClient, cutMessage(error.message))
  recordError(observe, mapped, req)
  const { fields } = mapped
  const extensions = { code: mapped.code, status: mapped.status, ...(fields && { fields }) }
  const shown = locations?.slice(0, MAX_LOCATIONS)
  return { message: mapped.message, ...(shown && { locations: shown }), ...(path && { path }), extensions }
}
