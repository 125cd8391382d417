import type { Router } from 'express'
import { allowMethods, createRouter } from '../../http/router.ts'
import { staticPage, staticText } from '../../http/static.ts'
import { type ApiServer, openapi } from '../openapi/document.ts'

/** `data:` for the icons in Swagger UI's style sheet. */
const CONTENT_SECURITY_POLICY = "style-src 'self'; img-src 'self' data:"

/** `/openapi.json`, and `/docs`: the API reference with Swagger UI. The page loads nothing from other origins. */
export function docsRouter(version: string, servers: ApiServer[]): Router {
  const document = JSON.stringify(openapi(version, servers), null, 2)
  const router = createRouter()
  router.get('/openapi.json', staticText({ 'Content-Type': 'application/json; charset=utf-8' }, document))
  router.get('/docs', staticPage('docs.html', CONTENT_SECURITY_POLICY))
  return router.all(['/openapi.json', '/docs'], allowMethods('GET', 'HEAD'))
}
