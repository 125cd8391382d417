import type { ErrorRequestHandler, Request } from 'express'
import type { Logger } from 'pino'
import { type ApiError, toApiError } from '../errors.ts'
import { sendJson } from './send-json.ts'

/**
 * The last handler of a face: maps whatever was thrown and sends it in the face's own shape.
 * @param formatBody turns the error into the JSON body
 * @param mediaType what that body is to this client
 */
export function errorHandler(
  log: Logger,
  formatBody: (error: ApiError) => unknown,
  mediaType: (req: Request) => string = () => 'application/json',
): ErrorRequestHandler {
  return (thrown, req, res, next) => {
    const error = toApiError(thrown)
    logError(log, error, req)
    if (res.headersSent) return next(thrown)
    res.status(error.status)
    for (const [name, value] of Object.entries(error.headers)) res.setHeader(name, value)
    res.setHeader('Cache-Control', 'no-store')
    sendJson(res, JSON.stringify(formatBody(error)), mediaType(req))
  }
}

/** What was behind a 5xx goes to the log and nowhere else. */
export function logError(log: Logger, { code, status, message, cause }: ApiError, req: Request): void {
  req.errorCode ??= code
  if (status === 500) log.error({ requestId: req.id, err: cause }, 'unexpected error')
  else if (status > 500 && cause) log.warn({ requestId: req.id, err: cause, code }, message)
}
