import type { Request } from 'express'
import { ApiError } from '../errors.ts'

/** Closes the connection after the response. */
const CLOSE = { headers: { Connection: 'close' } }

const HOST_AND_PORT = /^([\w.-]+|\[[\da-f:.]+\])(:\d{1,5})?$/i

/**
 * Rejects requests that no client of ours sends, and closes the connection: no Host or several, a malformed one, a target
 * that is no path (RFC 9112 §3.2), Transfer-Encoding in HTTP/1.0, where other servers may see another end of the body
 * (RFC 9112 §6.1), and an expectation other than 100-continue (RFC 9110 §10.1.1).
 */
export function validateRequestHead({ headers, headersDistinct, httpVersion, url }: Request): void {
  const hosts = headersDistinct.host ?? []
  const isHostValid =
    hosts.length === 1 ? HOST_AND_PORT.test(hosts[0] ?? '') : hosts.length === 0 && httpVersion === '1.0'
  if (!isHostValid || !url.startsWith('/')) {
    throw new ApiError('INVALID_ARGUMENT', 'Send one valid Host header and a path as the request target.', CLOSE)
  }
  if (httpVersion === '1.0' && headers['transfer-encoding'] !== undefined) {
    throw new ApiError('INVALID_ARGUMENT', 'HTTP/1.0 has no Transfer-Encoding: send Content-Length.', CLOSE)
  }
  if ((headers.expect ?? '100-continue').toLowerCase() !== '100-continue') {
    throw new ApiError('EXPECTATION_FAILED', undefined, CLOSE)
  }
}
