import type { ErrorRequestHandler, Request, Response } from 'express'
import { GraphQLError } from 'graphql'
import { LRUCache } from 'lru-cache'
import { ApiError, type ErrorCode, toApiError } from '../errors.ts'
import { sendError } from '../http/error-handler.ts'
import { sendJson } from '../http/json.ts'
import type { Observe } from '../telemetry/observation.ts'
import { GraphQLRequestError, isErrorCode, toErrors, toRequestError } from './errors.ts'
import { sendSingleResult } from './subscription/send-stream.ts'
import { findTransport, SSE } from './subscription/transports.ts'

// The statuses and media types of GraphQL over HTTP, edition September 2026.

const JSON_TYPE = 'application/json'
export const GRAPHQL_TYPE = 'application/graphql-response+json'
export const EVENT_STREAM_TYPE = 'text/event-stream'

/** The types have the charset that is sent, because `Accept` may name it. A wildcard in `Accept` gets the first type. */
const RESULT_TYPES = [JSON_TYPE, GRAPHQL_TYPE].map((type) => `${type}; charset=utf-8`)

/** The status of a response with data and errors, which the edition defines for its own media type only. */
const PARTIAL_SUCCESS = 294

/** A request that was read, but is not GraphQL or not valid, gets 422. All other errors have the status of their code. */
const UNPROCESSABLE = new Set<ErrorCode>(['INVALID_ARGUMENT', 'GRAPHQL_VALIDATION_FAILED'])

/** Once a request was read, its error is sent with GraphQL's own media type if it has one of these statuses. */
const GRAPHQL_STATUSES = new Set([400, 403, 422])

/** The negotiated type of a result, set when the parameters are read: later errors are those of a GraphQL request. */
export type GraphQLLocals = { mediaType?: string }

/** The negotiated types. Clients repeat their `Accept`, and to negotiate takes 2 to 10 µs (Node 20.20). */
const mediaTypeByAccept = new LRUCache<string, string, Request>({
  max: 100,
  memoMethod(_accept, _stale, { context: req }) {
    const type = req.accepts(RESULT_TYPES) || req.accepts(SSE.contentType)
    if (type) return type.replace(/;.*/, '')
    if (findTransport(req)) return JSON_TYPE
    throw new ApiError('NOT_ACCEPTABLE', `The response is ${GRAPHQL_TYPE}, ${JSON_TYPE} or ${EVENT_STREAM_TYPE}.`)
  },
})

/** The media type of a single result: JSON for a client that accepts only Apollo's multipart protocol. */
export const negotiate = (req: Request): string => mediaTypeByAccept.memo(req.headers.accept ?? '*/*', { context: req })

/** Sends a result that is not cached. @param isPartial whether the result has errors */
export function sendResult(res: Response, json: string, mediaType: string, isPartial: boolean): void {
  if (mediaType === EVENT_STREAM_TYPE) return sendSingleResult(res, json)
  if (isPartial && mediaType === GRAPHQL_TYPE) {
    res.status(PARTIAL_SUCCESS)
    res.statusMessage = 'Partial Success' // Node knows no phrase for it
  }
  sendJson(res, json, mediaType)
}

/** Sends what is thrown before the execution: a response without data. */
export function graphqlErrorHandler(observe: Observe): ErrorRequestHandler {
  return (thrown, req, res: Response<unknown, GraphQLLocals>, next) => {
    const isPluginError = thrown instanceof GraphQLError && isErrorCode(thrown.extensions.code)
    const error = toApiError(isPluginError ? toRequestError({ errors: [thrown] }) : thrown)
    const errors = toErrors(error, observe, req)
    if (res.headersSent) return next(thrown)
    const json = JSON.stringify({ errors })
    const { mediaType } = res.locals
    // GraphQL over SSE requires 200 for these errors: browsers and graphql-sse show no response with another status.
    if (mediaType === EVENT_STREAM_TYPE && error instanceof GraphQLRequestError) return sendSingleResult(res, json)
    const isGraphQLRequest = mediaType !== undefined
    const status = isGraphQLRequest && UNPROCESSABLE.has(error.code) ? 422 : error.status
    // This does not depend on `Accept`: an error as application/json could be that of another server.
    const type = isGraphQLRequest && GRAPHQL_STATUSES.has(status) ? GRAPHQL_TYPE : JSON_TYPE
    sendError(res, status, error.headers, json, type)
  }
}
