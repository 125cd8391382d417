import type { RequestHandler } from 'express'
import { ApiError } from '../../errors.ts'
import { staticPage } from '../../http/static.ts'
import type { TrustedDocuments } from '../trusted-documents.ts'

const MEDIA_TYPES = ['application/json', 'application/graphql-response+json', 'text/html']

/** `blob:` and `data:` for Monaco, the editor: its workers, icons and fonts. It also adds styles to the page. */
const CONTENT_SECURITY_POLICY =
  "worker-src blob:; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self' data:"

const OFF = 'GraphiQL is off: this service accepts only trusted documents (TRUSTED_DOCUMENTS=only).'

/** GraphiQL for browsers: a GET or HEAD that prefers HTML. All other requests go on to the API. */
export function graphiql(trustedDocuments: TrustedDocuments['mode']): RequestHandler {
  const page = staticPage('graphql.html', CONTENT_SECURITY_POLICY)
  return (req, res, next) => {
    res.vary('Accept')
    if (req.accepts(MEDIA_TYPES) !== 'text/html') return next()
    if (trustedDocuments === 'only') throw new ApiError('NOT_FOUND', OFF)
    return page(req, res, next)
  }
}
