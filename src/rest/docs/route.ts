import { createRequire } from 'node:module'
import { readFileSync } from 'node:fs'
import { Router } from 'express'
import { allowMethods } from '../../http/methods.ts'
import { contentSecurityPolicy, sendStatic, type StaticResponse } from '../../http/static.ts'
import { type ApiServer, openapi } from '../openapi/document.ts'

/** `data:` for the icons in Swagger UI's style sheet. */
const ALLOWED = ["script-src 'self'", "style-src 'self'", "img-src 'self' data:", "connect-src 'self'"]

/** `/openapi.json`, and `/docs`: the API reference with Swagger UI. The page loads nothing from other origins. */
export function docsRouter(version: string, servers: ApiServer[]): Router {
  const document = JSON.stringify(openapi(version, servers), null, 2)
  const router = Router({ strict: true, caseSensitive: true })
  for (const [path, response] of Object.entries(buildResponses(document))) {
    router.get(path, (_req, res) => sendStatic(res, response))
    router.all(path, allowMethods('GET', 'HEAD'))
  }
  return router
}

/** @returns the response of each path */
function buildResponses(document: string): Record<string, StaticResponse> {
  // The files of src/, also for the compiled code in dist/.
  const read = (file: string) => readFileSync(new URL(`../../../src/rest/docs/${file}`, import.meta.url))
  const { resolve } = createRequire(import.meta.url)
  const readSwaggerUi = (file: string) => readFileSync(resolve(`swagger-ui-dist/${file}`))
  const pageHeaders = { 'Content-Security-Policy': contentSecurityPolicy(...ALLOWED), 'Referrer-Policy': 'no-referrer' }
  const js = 'text/javascript; charset=utf-8'
  const css = 'text/css; charset=utf-8'
  return {
    '/openapi.json': buildResponse('application/json; charset=utf-8', Buffer.from(document)),
    '/docs': buildResponse('text/html; charset=utf-8', read('page.html'), pageHeaders),
    '/docs/page.css': buildResponse(css, read('page.css')),
    '/docs/start.js': buildResponse(js, read('start.js')),
    '/docs/swagger-ui.css': buildResponse(css, readSwaggerUi('swagger-ui.css')),
    '/docs/swagger-ui-bundle.js': buildResponse(js, readSwaggerUi('swagger-ui-bundle.js')),
    '/docs/favicon-32x32.png': buildResponse('image/png', readSwaggerUi('favicon-32x32.png')),
  }
}

function buildResponse(contentType: string, body: Buffer, headers = {}): StaticResponse {
  return { headers: { 'Content-Type': contentType, 'Cache-Control': 'no-cache', ...headers }, body }
}
