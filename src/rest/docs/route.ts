import { createRequire } from 'node:module'
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { Router } from 'express'
import { allowMethods } from '../../http/methods.ts'
import { sendStatic, type StaticResponse } from '../../http/static.ts'
import { type ApiServer, openapi } from '../openapi/document.ts'

const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:", // the icons in Swagger UI's style sheet
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

const page = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Pet store API</title>
<link rel="icon" href="/docs/favicon-32x32.png">
<link rel="stylesheet" href="/docs/swagger-ui.css">
<link rel="stylesheet" href="/docs/page.css">
</head>
<body>
<div id="reference"></div>
<script src="/docs/swagger-ui-bundle.js"></script>
<script src="/docs/start.js"></script>
</body>
</html>
`

/** What of Swagger UI leads nowhere is not shown, the deprecated is readable, and all of it fits on a phone. */
const style = `body { margin: 0 }
.swagger-ui .info { margin: 24px 0 }
.swagger-ui .info__contact, .swagger-ui .info__license, .swagger-ui .response-col_links { display: none }
.swagger-ui .servers { font-size: 14px; line-height: 1.6; overflow-wrap: anywhere }
.swagger-ui .opblock.opblock-deprecated { opacity: 1 }
.swagger-ui .opblock.opblock-deprecated .opblock-summary-method { background: #6b7280 }
.swagger-ui .opblock.opblock-deprecated .opblock-summary-description::after { content: ' (deprecated)' }
@media (max-width: 640px) {
  .swagger-ui :is(.parameters, .responses-table, .responses-table .headers),
  .swagger-ui :is(.parameters, .responses-table) :is(tbody, tr, td) { box-sizing: border-box; display: block; width: 100% }
  .swagger-ui :is(.parameters, .responses-table) thead { display: none }
  .swagger-ui :is(.parameters, .responses-table) td { padding: 4px 0 }
  .swagger-ui .responses-table .headers td { font-weight: 400 }
  .swagger-ui .responses-table .headers td:first-child { font-weight: 700; padding-top: 12px }
  .swagger-ui .responses-table .headers td:last-child { display: none }
  .swagger-ui .opblock-section-header, .swagger-ui .try-out.btn-group { flex-wrap: wrap; gap: 8px; justify-content: flex-end }
  .swagger-ui :is(.parameters, .responses-table) :is(input, select, textarea) { max-width: 100%; min-width: 0 }
}
`

const start = `// In browsers that can, integers beyond 2^53 keep their digits: Swagger UI parses and prints what an answer holds.
if (JSON.rawJSON) {
  const parse = JSON.parse
  const exact = (_key, value, { source }) =>
    typeof value === 'number' && !Number.isSafeInteger(value) && /^-?\\d+$/.test(source) ? BigInt(source) : value
  JSON.parse = (text, reviver = exact) => parse(text, reviver)
  BigInt.prototype.toJSON = function () {
    return JSON.rawJSON(String(this))
  }
}

// A list, not a choice: a browser may call no server but the one that the page is from.
const ServerList = ({ React: { createElement } }) => ({
  components: {
    Servers: ({ servers }) =>
      servers.toJS().map(({ url, description }) =>
        createElement('div', { className: 'servers', key: url }, createElement('code', null, url), ' – ', description)),
  },
})

SwaggerUIBundle({
  url: '/openapi.json',
  dom_id: '#reference',
  plugins: [ServerList],
  deepLinking: true,
  displayRequestDuration: true,
  persistAuthorization: true,
  tryItOutEnabled: true,
  validatorUrl: null,
})
`

/** `/openapi.json`, and `/docs`: the API reference for people. The page loads nothing from other origins. */
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
  const swaggerUi = dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'))
  const readSwaggerUi = (file: string) => readFileSync(join(swaggerUi, file))
  const pageHeaders = { 'Content-Security-Policy': contentSecurityPolicy, 'Referrer-Policy': 'no-referrer' }
  return {
    '/openapi.json': buildResponse('application/json; charset=utf-8', document),
    '/docs': buildResponse('text/html; charset=utf-8', page, pageHeaders),
    '/docs/page.css': buildResponse('text/css; charset=utf-8', style),
    '/docs/start.js': buildResponse('text/javascript; charset=utf-8', start),
    '/docs/swagger-ui.css': buildResponse('text/css; charset=utf-8', readSwaggerUi('swagger-ui.css')),
    '/docs/swagger-ui-bundle.js': buildResponse(
      'text/javascript; charset=utf-8',
      readSwaggerUi('swagger-ui-bundle.js'),
    ),
    '/docs/favicon-32x32.png': buildResponse('image/png', readSwaggerUi('favicon-32x32.png')),
  }
}

function buildResponse(contentType: string, body: string | Buffer, headers = {}): StaticResponse {
  return {
    headers: { 'Content-Type': contentType, 'Cache-Control': 'no-cache', ...headers },
    body: Buffer.from(body),
  }
}
