import type { ErrorRequestHandler, Request, RequestHandler } from 'express'
import { ApiError, toApiError } from '../errors.ts'
import type { Observe } from '../telemetry/observation.ts'
import { sendJson } from './json.ts'

export const notFound: RequestHandler = () => {
  throw new ApiError('NOT_FOUND', 'No such endpoint.')
}

/** The last handler of an API: sends the error in that API's format. */
export function errorHandler(
  observe: Observe,
  formatBody: (error: ApiError) => unknown = ({ body }) => body,
  mediaType: (req: Request) => string = () => 'application/json',
): ErrorRequestHandler {
  return (thrown, req, res, next) => {
    const error = toApiError(thrown)
    recordError(observe, error, req)
    if (res.headersSent) return next(thrown)
    res.status(error.status)
    for (const [name, value] of Object.entries(error.headers)) res.setHeader(name, value)
    res.setHeader('Cache-Control', 'no-store')
    sendJson(res, JSON.stringify(formatBody(error)), mediaType(req))
  }
}

export function recordError(observe: Observe, error: ApiError, req: Request): void {
  req.errorCode ??= error.code
  observe({ type: 'error', error, requestId: req.id })
}
