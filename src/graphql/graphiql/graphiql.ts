import type { RequestHandler } from 'express'
import { ApiError } from '../../errors.ts'
import { forBrowsers, staticPage } from '../../http/static.ts'
import type { TrustedDocuments } from '../plugins/trusted-documents.ts'

/** The editor, Monaco, needs `blob:` for its workers and `data:` for its icons and fonts, and adds styles to the page. */
const CONTENT_SECURITY_POLICY =
  "worker-src blob:; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self' data:"

const off: RequestHandler = () => {
  const message = 'GraphiQL is off: this service accepts only trusted documents (TRUSTED_DOCUMENTS=only).'
  throw new ApiError('NOT_FOUND', message)
}

/** GraphiQL for browsers: a GET or HEAD that prefers HTML. All other requests go on to the API. */
export function graphiql(trusted: TrustedDocuments | undefined): RequestHandler {
  const page = trusted?.mode === 'only' ? off : staticPage('graphql.html', CONTENT_SECURITY_POLICY)
  return forBrowsers(page, 'application/graphql-response+json')
}
