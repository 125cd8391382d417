import type { ErrorRequestHandler, Request, RequestHandler, Response } from 'express'
import { ApiError, toApiError } from '../errors.ts'
import type { Observe } from '../telemetry/observation.ts'
import { sendJson } from './json.ts'

export const notFound: RequestHandler = () => {
  throw new ApiError('NOT_FOUND', 'No such endpoint.')
}

/** The last handler of the service: sends the error as the REST API does. */
export function errorHandler(observe: Observe): ErrorRequestHandler {
  return (thrown, req, res, next) => {
    const error = toApiError(thrown)
    recordError(observe, error, req)
    if (res.headersSent) return next(thrown)
    sendError(res, error, JSON.stringify(error.body))
  }
}

export function sendError(
  res: Response,
  { status, headers }: Pick<ApiError, 'status' | 'headers'>,
  json: string,
  mediaType?: string,
): void {
  res.status(status).setHeader('Cache-Control', 'no-store')
  for (const [name, value] of Object.entries(headers)) res.setHeader(name, value)
  sendJson(res, json, mediaType)
}

export function recordError(observe: Observe, error: ApiError, req: Request): void {
  req.errorCode ??= error.code
  observe({ type: 'error', error, requestId: req.id })
}
