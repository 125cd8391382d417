import type { ErrorRequestHandler, Request, RequestHandler } from 'express'
import { ApiError, toApiError } from '../errors.ts'
import type { LogError } from '../telemetry/error-log.ts'
import { sendJson } from './send-json.ts'

/** The handler after all routes: no route matched the path. */
export const notFound: RequestHandler = () => {
  throw new ApiError('NOT_FOUND', 'No such endpoint.')
}

/**
 * The last handler of an API: maps the error and sends it in that API's format.
 * @param formatBody turns the error into the JSON body
 * @param mediaType the media type of that body for this client
 */
export function errorHandler(
  logError: LogError,
  formatBody: (error: ApiError) => unknown = ({ body }) => body,
  mediaType: (req: Request) => string = () => 'application/json',
): ErrorRequestHandler {
  return (thrown, req, res, next) => {
    const error = toApiError(thrown)
    recordError(logError, error, req)
    if (res.headersSent) return next(thrown)
    res.status(error.status)
    for (const [name, value] of Object.entries(error.headers)) res.setHeader(name, value)
    res.setHeader('Cache-Control', 'no-store')
    sendJson(res, JSON.stringify(formatBody(error)), mediaType(req))
  }
}

/** Records the error code of the request, and logs the error. */
export function recordError(logError: LogError, error: ApiError, req: Request): void {
  req.errorCode ??= error.code
  logError(error, req.id)
}
