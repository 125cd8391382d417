import { createHash } from 'node:crypto'
import type { NextFunction, Request, Response } from 'express'
import { sendStatic, type StaticResponse } from '../../http/static.ts'
import { bootstrapScript, examples, headerBarHtml } from './page.ts'

const MEDIA_TYPES = ['application/json', 'application/graphql-response+json', 'text/html']

/** GraphiQL for browsers: a GET or HEAD that prefers HTML. All other requests go on to the API. */
export function graphiql() {
  let page: Promise<StaticResponse> | undefined
  return async (req: Request, res: Response, next: NextFunction): Promise<void> => {
    if (req.accepts(MEDIA_TYPES) !== 'text/html') return next()
    page ??= renderPage()
    sendStatic(res, await page)
  }
}

/** Renders the page, which has 9 MB: at the first visit, since most processes never serve it. */
async function renderPage(): Promise<StaticResponse> {
  const { renderGraphiQL } = await import('@graphql-yoga/render-graphiql')
  const html = renderGraphiQL({ title: 'Pet store GraphiQL', defaultTabs: examples })
    .replace('<div id="root">', (root) => headerBarHtml + root)
    .replace('<script>', (start) => `<script>${bootstrapScript}</script>${start}`)
  return {
    headers: {
      'Content-Type': 'text/html; charset=utf-8',
      'Content-Security-Policy': contentSecurityPolicy(html),
      'Referrer-Policy': 'no-referrer',
    },
    body: Buffer.from(html),
  }
}

/** No external origins. Scripts are allowed by their hash (CSP Level 3 §2.3.1): a nonce would differ in each response. */
function contentSecurityPolicy(html: string): string {
  const scripts = [...html.matchAll(/<script>([^]*?)<\/script>/g)].map(([, script = '']) => script)
  const hashes = scripts.map((script) => `'sha256-${createHash('sha256').update(script).digest('base64')}'`)
  return [
    "default-src 'none'",
    `script-src ${hashes.join(' ')}`,
    'worker-src blob:',
    "style-src 'unsafe-inline'",
    'img-src data:',
    'font-src data:',
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ')
}
