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
    sendError(res, error.status, error.headers, JSON.stringify(error.body))
  }
}

export function sendError(res: Response, status: number, headers: object, json: string, mediaType?: string): void {
  res.status(status).set({ 'Cache-Control': 'no-store', ...headers })
  sendJson(res, json, mediaType)
}

export function recordError(observe: Observe, error: ApiError, req: Request): void {
  req.errorCode ??= error.code
  observe({ type: 'error', error, req })
}
