import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { Router } from 'express'
import { type ApiServer, openapi } from './openapi.ts'

const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'", // Swagger UI styles some of its elements in place
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
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
<style>body { margin: 0 } .swagger-ui .info { margin: 24px 0 } .swagger-ui .topbar { display: none }</style>
</head>
<body>
<div id="reference"></div>
<script src="/docs/swagger-ui-bundle.js"></script>
<script src="/docs/start.js"></script>
</body>
</html>
`

const start = `SwaggerUIBundle({
  url: '/openapi.json',
  dom_id: '#reference',
  deepLinking: true,
  displayRequestDuration: true,
  persistAuthorization: true,
  tryItOutEnabled: true,
  validatorUrl: null,
})
`

/** `/openapi.json`, and `/docs`: the API reference for people, made of nothing but what this process serves. */
export function docsRouter(version: string, servers: ApiServer[]): Router {
  const document = JSON.stringify(openapi(version, servers), null, 2)
  const assets = dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'))
  const router = Router({ strict: true, caseSensitive: true })
  router.use(['/openapi.json', '/docs'], (_req, res, next) => {
    res.setHeader('Cache-Control', 'no-cache')
    next()
  })
  router.get('/openapi.json', (_req, res) => void res.type('json').send(document))
  router.get('/docs', (_req, res) => {
    res.setHeader('Content-Security-Policy', policy)
    res.setHeader('Referrer-Policy', 'no-referrer')
    res.type('html').send(page)
  })
  router.get('/docs/start.js', (_req, res) => void res.type('js').send(start))
  for (const file of ['swagger-ui.css', 'swagger-ui-bundle.js', 'favicon-32x32.png']) {
    router.get(`/docs/${file}`, (_req, res) => res.sendFile(join(assets, file), { cacheControl: false }))
  }
  return router
}
