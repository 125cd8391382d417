import express, { type NextFunction, type Request, type RequestHandler, type Response } from 'express'
import { ApiError } from '../errors.ts'
import { parseJson } from './json.ts'

const limitBytes = 64 * 1024

/**
 * Reads a JSON body into `req.body`, for both faces: media type, then size, then UTF-8, then JSON.
 * Answers 415, 413 (before the body is read whole) or 400.
 */
export const jsonBody: RequestHandler[] = [
  requireJsonType,
  express.raw({ type: () => true, limit: limitBytes, inflate: false }),
  decode,
]

function requireJsonType(req: Request, _res: Response, next: NextFunction): void {
  const [type = '', ...parameters] = (req.headers['content-type'] ?? '').toLowerCase().split(';')
  const charset = parameters.map((p) => p.trim()).find((p) => p.startsWith('charset='))
  const encoding = req.headers['content-encoding'] ?? 'identity'
  const utf8 = charset === undefined || /^charset="?utf-8"?$/.test(charset)
  if (type.trim() !== 'application/json' || !utf8 || encoding.toLowerCase() !== 'identity') {
    const message = 'The body must be application/json in UTF-8, without Content-Encoding.'
    throw new ApiError('UNSUPPORTED_MEDIA_TYPE', message, { headers: { 'Accept-Post': 'application/json' } })
  }
  next()
}

function decode(req: Request, _res: Response, next: NextFunction): void {
  const bytes: unknown = req.body
  if (!Buffer.isBuffer(bytes) || bytes.length === 0) throw new ApiError('INVALID_ARGUMENT', 'The body is empty.')
  let text: string
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch (cause) {
    throw new ApiError('INVALID_ARGUMENT', 'The body is not valid UTF-8.', { cause })
  }
  try {
    req.body = parseJson(text)
  } catch (cause) {
    throw new ApiError('INVALID_ARGUMENT', 'The body is not valid JSON.', { cause })
  }
  next()
}
