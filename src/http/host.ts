import type { Request, Response } from 'express'
import { ApiError } from '../errors.ts'

const HOST_AND_PORT = /^([\w.-]+|\[[\da-f:.]+\])(:\d{1,5})?$/i

/**
 * Rejects requests that no client of ours sends, and closes the connection: no Host or several, a malformed one, a target
 * that is no path (RFC 9112 §3.2), Transfer-Encoding in HTTP/1.0, where other servers may see another end of the body
 * (RFC 9112 §6.1), and an expectation other than 100-continue (RFC 9110 §10.1.1).
 */
export function validateRequestHead(req: Request, res: Response): void {
  const error = headError(req)
  if (!error) return
  res.setHeader('Connection', 'close')
  throw error
}

function headError({ headers, headersDistinct, httpVersion, url }: Request): ApiError | undefined {
  const hosts = headersDistinct.host ?? []
  const isHostValid =
    hosts.length === 1 ? HOST_AND_PORT.test(hosts[0] ?? '') : hosts.length === 0 && httpVersion === '1.0'
  if (!isHostValid || !url.startsWith('/')) {
    return new ApiError('INVALID_ARGUMENT', 'Send one valid Host header and a path as the request target.')
  }
  if (httpVersion === '1.0' && headers['transfer-encoding'] !== undefined) {
    return new ApiError('INVALID_ARGUMENT', 'HTTP/1.0 has no Transfer-Encoding: send Content-Length.')
  }
  if ((headers.expect ?? '100-continue').toLowerCase() !== '100-continue') {
    return new ApiError('EXPECTATION_FAILED')
  }
  return undefined
}
