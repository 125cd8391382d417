import type { Request, Response } from 'express'
import type { Config } from '../config/config.ts'
import { METHODS } from './allowed-methods.ts'

/** This API's own headers, and those that browsers' GraphQL clients add. */
const ALLOWED_HEADERS =
  'Authorization, Content-Type, Accept, Idempotency-Key, If-None-Match, X-Request-Id, traceparent, tracestate, ' +
  'GraphQL-Cost, Last-Event-ID, apollographql-client-name, apollographql-client-version, Apollo-Require-Preflight, ' +
  'graphql-client-name, graphql-client-version'

const EXPOSED_HEADERS =
  'Link, ETag, Location, Retry-After, RateLimit, RateLimit-Policy, Deprecation, Sunset, X-Request-Id, ' +
  'Idempotent-Replayed, WWW-Authenticate, Allow'

/** The most that Chromium accepts. */
const MAX_AGE_S = '7200'

const LOCALHOST = /^https?:\/\/(localhost|127\.0\.0\.1|\[::1\])(:\d+)?$/

/**
 * Lets pages of other origins read responses, errors included (Fetch standard, CORS protocol). Never with
 * Access-Control-Allow-Credentials: clients authenticate by a header that their script sets, not by cookies. The package
 * `cors` (2.8.6) treats every OPTIONS as a preflight, and allows methods and headers to origins that are not allowed.
 */
export function allowOrigins(origins: NonNullable<Config['CORS_ORIGINS']>, req: Request, res: Response): void {
  // Even a response to a request without Origin varies: a cache must not give that response to a page.
  if (origins !== '*') res.vary('Origin')
  const { origin = '' } = req.headers
  const isAllowed = origins === 'localhost' ? LOCALHOST.test(origin) : origins === '*' || origins.includes(origin)
  if (!isAllowed) return
  res.setHeader('Access-Control-Allow-Origin', origins === '*' ? '*' : origin)
  if (!isPreflight(req)) res.setHeader('Access-Control-Expose-Headers', EXPOSED_HEADERS)
}

/**
 * Responds to preflights for existing routes. They carry no key, and browsers report an error response to a preflight
 * as a failure of the network, so this comes before authentication, rate limits and load shedding.
 * @returns whether it has responded
 */
export function respondToPreflight(req: Request, res: Response, routeOf: (path: string) => string): boolean {
  if (!isPreflight(req)) return false
  // Browsers follow a redirect of the request itself, such as /graphql/ to /graphql, but none of its preflight.
  if (routeOf(req.path.replace(/(?<=.)\/$/, '')) === 'other') return false
  // For an origin that is not allowed, the absence of Access-Control-Allow-Origin says so.
  if (res.hasHeader('Access-Control-Allow-Origin')) {
    res.setHeader('Access-Control-Allow-Methods', METHODS.join(', '))
    res.setHeader('Access-Control-Allow-Headers', ALLOWED_HEADERS)
    res.setHeader('Access-Control-Max-Age', MAX_AGE_S)
  }
  res.status(204).end()
  return true
}

function isPreflight({ method, headers }: Request): boolean {
  return method === 'OPTIONS' && headers.origin !== undefined && 'access-control-request-method' in headers
}
