import type { NextFunction, Request, Response } from 'express'
import { ApiError } from '../errors.ts'
import { parseJson } from './json.ts'

export const MAX_BODY_BYTES = 64 * 1024
const decoder = new TextDecoder('utf-8', { fatal: true })

/**
 * Reads a JSON body into `req.body`, for both faces: media type, then size, then UTF-8, then JSON.
 * Answers 415, 413 (before the body is read whole) or 400.
 */
export async function jsonBody(req: Request, res: Response, next: NextFunction): Promise<void> {
  requireJsonType(req)
  if (Number(req.headers['content-length']) > MAX_BODY_BYTES) throw tooLarge()
  if (req.headers.expect && req.httpVersion === '1.1') res.writeContinue()
  req.bodyText = decode(await read(req))
  req.body = parse(req.bodyText)
  next()
}

function requireJsonType(req: Request): void {
  const [type = '', ...parameters] = (req.headers['content-type'] ?? '').toLowerCase().split(';')
  const charset = parameters.map((p) => p.trim()).find((p) => p.startsWith('charset='))
  const encoding = req.headers['content-encoding'] ?? 'identity'
  const transfer = req.headers['transfer-encoding'] ?? 'chunked'
  const utf8 = charset === undefined || /^charset="?utf-8"?$/.test(charset)
  const encoded = encoding.toLowerCase() !== 'identity'
  if (type.trim() !== 'application/json' || !utf8 || encoded || transfer.toLowerCase() !== 'chunked') {
    const message = 'The body must be application/json in UTF-8, without Content-Encoding.'
    // RFC 9110 §12.5.3 has the latter for nothing else, so that clients know what was wrong.
    const headers = { 'Accept-Post': 'application/json', ...(encoded && { 'Accept-Encoding': 'identity' }) }
    throw new ApiError('UNSUPPORTED_MEDIA_TYPE', message, { headers })
  }
}

/** The bytes of the body. Fails as soon as there are too many; Node discards the rest while the answer goes out. */
function read(req: Request): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    if (req.bodyError) return reject(req.bodyError)
    req.once('bodyError', reject)
    const chunks: Buffer[] = []
    let size = 0
    req.on('data', (chunk: Buffer) => {
      size += chunk.length
      if (size <= MAX_BODY_BYTES) chunks.push(chunk)
      else reject(tooLarge())
    })
    req.on('end', () => resolve(Buffer.concat(chunks)))
    req.on('error', (cause) => reject(new ApiError('INVALID_ARGUMENT', 'The body broke off.', { cause })))
  })
}

function tooLarge(): ApiError {
  return new ApiError('PAYLOAD_TOO_LARGE', 'The body is larger than 64 KiB.')
}

function decode(bytes: Buffer): string {
  if (bytes.length === 0) throw new ApiError('INVALID_ARGUMENT', 'The body is empty.')
  try {
    return decoder.decode(bytes)
  } catch (cause) {
    throw new ApiError('INVALID_ARGUMENT', 'The body is not valid UTF-8.', { cause })
  }
}

function parse(text: string): unknown {
  try {
    return parseJson(text)
  } catch (cause) {
    throw new ApiError('INVALID_ARGUMENT', 'The body is not valid JSON.', { cause })
  }
}
