import { Router } from 'express'
import { allowMethods } from '../../http/methods.ts'
import { contentSecurityPolicy, staticPage, staticText } from '../../http/static.ts'
import { type ApiServer, openapi } from '../openapi/document.ts'

const PAGE_HEADERS = {
  'Content-Type': 'text/html; charset=utf-8',
  'Referrer-Policy': 'no-referrer',
  // `data:` for the icons in Swagger UI's style sheet.
  'Content-Security-Policy': contentSecurityPolicy("style-src 'self'; img-src 'self' data:"),
}

/** `/openapi.json`, and `/docs`: the API reference with Swagger UI. The page loads nothing from other origins. */
export function docsRouter(version: string, servers: ApiServer[]): Router {
  const document = JSON.stringify(openapi(version, servers), null, 2)
  const router = Router({ strict: true, caseSensitive: true })
  router.get('/openapi.json', staticText({ 'Content-Type': 'application/json; charset=utf-8' }, document))
  router.get('/docs', staticPage(PAGE_HEADERS, 'docs.html'))
  return router.all(['/openapi.json', '/docs'], allowMethods('GET', 'HEAD'))
}
