import type { IRouter } from 'express'
import { addReadRoute } from '../../http/router.ts'
import { staticPage, staticText } from '../../http/static.ts'
import { openapi } from '../openapi/document.ts'
import type { PublicUrls, RestApi } from '../operation.ts'

/** `/openapi.json`, and `/docs`: the API reference with Swagger UI. The page loads nothing from other origins. */
export function addDocsRoutes(app: IRouter, apis: RestApi[], config: PublicUrls): void {
  const document = JSON.stringify(openapi(apis, config), null, 2)
  addReadRoute(app, '/openapi.json', staticText({ 'Content-Type': 'application/json; charset=utf-8' }, document))
  // `data:` for the icons in Swagger UI's style sheet.
  addReadRoute(app, '/docs', staticPage('docs.html', "style-src 'self'; img-src 'self' data:"))
}
