import type { RequestHandler } from 'express'
import { contentSecurityPolicy, staticPage } from '../../http/static.ts'

const MEDIA_TYPES = ['application/json', 'application/graphql-response+json', 'text/html']

/** `blob:` and `data:` for Monaco, the editor: its workers, icons and fonts. It also adds styles to the page. */
const CONTENT_SECURITY_POLICY = contentSecurityPolicy(
  "worker-src blob:; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self' data:",
)

/** GraphiQL for browsers: a GET or HEAD that prefers HTML. All other requests go on to the API. */
export function graphiql(): RequestHandler {
  const page = staticPage(
    {
      'Content-Type': 'text/html; charset=utf-8',
      'Content-Security-Policy': CONTENT_SECURITY_POLICY,
      'Referrer-Policy': 'no-referrer',
    },
    'graphql.html',
  )
  return (req, res, next) => {
    res.vary('Accept')
    return req.accepts(MEDIA_TYPES) === 'text/html' ? page(req, res, next) : next()
  }
}
