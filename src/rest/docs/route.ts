import type { Router } from 'express'
import { allowMethods, createRouter } from '../../http/router.ts'
import { staticPage, staticText } from '../../http/static.ts'
import { openapi } from '../openapi/document.ts'
import type { PublicUrls } from '../operation.ts'

/** `/openapi.json`, and `/docs`: the API reference with Swagger UI. The page loads nothing from other origins. */
export function docsRouter(config: PublicUrls): Router {
  const document = JSON.stringify(openapi(config), null, 2)
  const router = createRouter()
  router.get('/openapi.json', staticText({ 'Content-Type': 'application/json; charset=utf-8' }, document))
  // `data:` for the icons in Swagger UI's style sheet.
  router.get('/docs', staticPage('docs.html', "style-src 'self'; img-src 'self' data:"))
  return router.all(['/openapi.json', '/docs'], allowMethods('GET', 'HEAD'))
}
