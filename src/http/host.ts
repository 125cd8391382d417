import type { NextFunction, Request, Response } from 'express'
import { ApiError } from '../errors.ts'

const hostAndPort = /^([\w.-]+|\[[\da-f:.]+\])(:\d{1,5})?$/i

/**
 * Refuses what no client of ours sends: no Host or several, a broken one, a target that is no path (RFC 9112 §3.2), and an
 * expectation other than 100-continue (RFC 9110 §10.1.1).
 */
export function validateRequestHead(req: Request, res: Response, next: NextFunction): void {
  const hosts = req.headersDistinct.host ?? []
  const sane = hosts.length === 1 ? hostAndPort.test(hosts[0] ?? '') : hosts.length === 0 && req.httpVersion === '1.0'
  if (!sane || !req.url.startsWith('/')) {
    res.setHeader('Connection', 'close')
    throw new ApiError('INVALID_ARGUMENT', 'Send one valid Host header and a path as the request target.')
  }
  const { expect = '100-continue' } = req.headers
  if (expect.toLowerCase() !== '100-continue') {
    res.setHeader('Connection', 'close')
    throw new ApiError('EXPECTATION_FAILED', 'The only expectation supported is 100-continue.')
  }
  next()
}
