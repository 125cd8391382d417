import type { NextFunction, Request, Response } from 'express'
import { ApiError } from '../errors.ts'

const hostAndPort = /^([\w.-]+|\[[\da-f:.]+\])(:\d{1,5})?$/i

/** Refuses what no client of ours sends (RFC 9112 §3.2): no Host or several, a broken one, a target that is no path. */
export function requireSaneTarget(req: Request, res: Response, next: NextFunction): void {
  const hosts = req.headersDistinct.host ?? []
  const sane = hosts.length === 1 ? hostAndPort.test(hosts[0] ?? '') : hosts.length === 0 && req.httpVersion === '1.0'
  if (!sane || !req.url.startsWith('/')) {
    res.setHeader('Connection', 'close')
    throw new ApiError('INVALID_ARGUMENT', 'Send one valid Host header and a path as the request target.')
  }
  next()
}
