import { parse as parseMediaType } from 'content-type'
import type { Request, Response } from 'express'
import { ApiError } from '../errors.ts'
import { parseJson } from './json.ts'
import type { KeptBytes } from './kept-bytes.ts'

export const MAX_BODY_BYTES = 64 * 1024

/** How many pieces (chunks, or reads from the socket) a body may have. Each takes the time of a small request. */
const MAX_PIECES = 512
/** What each piece takes in memory, beside its own bytes. */
const PIECE_BYTES = 512

const UTF_8 = new TextDecoder('utf-8', { fatal: true })

/** Receives a JSON body, for both APIs. Fails with 400 or, before the end of the body, with 415, 413, 408, 429 or 503. */
export async function receiveBody(req: Request, res: Response, keptBytes: KeptBytes): Promise<Buffer> {
  requireJsonType(req)
  if (Number(req.headers['content-length']) > MAX_BODY_BYTES) throw new ApiError('PAYLOAD_TOO_LARGE')
  if (req.headers.expect && req.httpVersion === '1.1') res.writeContinue()
  const beganAfterMs = req.deadline.elapsedMs
  const bytes = await receive(req, res, keptBytes)
  req.deadline.extendBy(req.deadline.elapsedMs - beganAfterMs)
  if (bytes.length === 0) throw new ApiError('INVALID_ARGUMENT', 'The body is empty.')
  return bytes
}

/** Decodes and parses a body into `req.body`. @throws ApiError INVALID_ARGUMENT */
export function parseBody(req: Request, bytes: Buffer): void {
  try {
    req.body = parseJson(UTF_8.decode(bytes))
  } catch (cause) {
    const format = cause instanceof SyntaxError ? 'JSON' : 'UTF-8'
    throw new ApiError('INVALID_ARGUMENT', `The body is not valid ${format}.`, { cause })
  }
}

function requireJsonType(req: Request): void {
  const { type, parameters } = parseMediaType(req.headers['content-type'] ?? '')
  const isUtf8 = (parameters.charset ?? 'utf-8').toLowerCase() === 'utf-8'
  const encoded = (req.headers['content-encoding'] ?? 'identity').toLowerCase() !== 'identity'
  const transfer = (req.headers['transfer-encoding'] ?? 'chunked').toLowerCase()
  if (type !== 'application/json' || !isUtf8 || encoded || transfer !== 'chunked') {
    const message = 'The body must be application/json in UTF-8, without Content-Encoding.'
    // A 415 for another reason than the content coding must not have Accept-Encoding (RFC 9110 §12.5.3).
    const headers = { 'Accept-Post': 'application/json', ...(encoded && { 'Accept-Encoding': 'identity' }) }
    throw new ApiError('UNSUPPORTED_MEDIA_TYPE', message, { headers })
  }
}

/** Fails as soon as there are too many bytes; the connection is closed after the response. */
function receive(req: Request, res: Response, keptBytes: KeptBytes): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    if (req.bodyError) return reject(req.bodyError)
    const pieces: Buffer[] = []
    let size = 0
    const onData = (piece: Buffer) => {
      size += piece.length
      if (size > MAX_BODY_BYTES) return fail(new ApiError('PAYLOAD_TOO_LARGE'))
      if (pieces.push(piece) > MAX_PIECES)
        return fail(new ApiError('INVALID_ARGUMENT', 'The body has too many pieces.'))
      hold?.add(piece.length + PIECE_BYTES)
    }
    const onEnd = () => {
      stop()
      resolve(Buffer.concat(pieces, size))
    }
    const fail = (error: ApiError) => {
      stop() // discards what follows
      reject(error)
    }
    const onError = (cause: Error) => fail(new ApiError('INVALID_ARGUMENT', 'The body is incomplete.', { cause }))
    /** Listeners keep the body in memory as long as the request, which may wait behind a stream on its connection. */
    const stop = () => {
      hold?.release()
      req.onBodyError = undefined
      req.off('data', onData).off('end', onEnd).off('error', onError)
    }
    req.onBodyError = fail
    req.on('data', onData).on('end', onEnd).on('error', onError)
    let hold: ReturnType<KeptBytes['hold']> | undefined // undefined while keptBytes.hold runs, which may call `fail`
    hold = keptBytes.hold(res, 0, fail)
  })
}
