import type { ErrorRequestHandler, Request, Response } from 'express'
import { GraphQLError, type GraphQLFormattedError } from 'graphql'
import { ApiError, type ErrorCode, toApiError } from '../errors.ts'
import { errorHandler, recordError } from '../http/error-handler.ts'
import { sendJson } from '../http/json.ts'
import type { Observe } from '../telemetry/observation.ts'
import { cleanMessage, GraphQLRequestError } from './request-errors.ts'
import { sendSingleResult } from './subscription/send-stream.ts'
import { findTransport, isNamed } from './subscription/transports.ts'

/** Sends errors from before the execution as a GraphQL response. Those of graphql-js are about the arguments. */
export function graphqlErrorHandler(observe: Observe): ErrorRequestHandler {
  const sendError = errorHandler(
    observe,
    ({ code, message, status }) => ({ errors: [{ message, extensions: { code, status } }] }),
    (req) => accepted(req) || 'application/json',
  )
  return (thrown, req, res, next) => {
    const rejected = thrown instanceof GraphQLError ? new GraphQLRequestError('INVALID_ARGUMENT', thrown) : thrown
    if (!(rejected instanceof GraphQLRequestError)) return void sendError(thrown, req, res, next)
    const { code, errors } = rejected
    const formatted = errors.map((error) => toGraphQLError(error, code, observe, req))
    const mediaType: string = res.locals.mediaType // negotiated before
    // Clients that name application/json expect a request error as 200 (GraphQL over HTTP, section 6.4.1).
    if (mediaType !== 'application/json' || !isNamed(req, mediaType)) res.status(rejected.status)
    sendResult(res, JSON.stringify({ errors: formatted }), mediaType)
  }
}

/** Sends a result that is not cached. */
export function sendResult(res: Response, json: string, mediaType: string): void {
  if (mediaType === 'text/event-stream') sendSingleResult(res, json)
  else sendJson(res, json, mediaType)
}

function accepted(req: Request): string | false {
  return req.accepts(['application/json', 'application/graphql-response+json'])
}

/**
 * The media type of a single result. A client that accepts only event streams gets one; a client that accepts only
 * Apollo's multipart protocol gets JSON.
 * @throws ApiError NOT_ACCEPTABLE
 */
export function negotiate(req: Request): string {
  const type = accepted(req) || req.accepts('text/event-stream') || (findTransport(req) && 'application/json')
  if (type) return type
  const message = 'The response is application/graphql-response+json, application/json or text/event-stream.'
  throw new ApiError('NOT_ACCEPTABLE', message)
}

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
