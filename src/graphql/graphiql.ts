import { randomBytes } from 'node:crypto'
import type { NextFunction, Request, Response } from 'express'
import { bootstrapScript, examples, headerBarHtml } from './graphiql-page.ts'

/** All that the page is made of comes with it; it talks to this server and to nobody else. */
const policy = (nonce: string) =>
  [
    "default-src 'none'",
    `script-src 'nonce-${nonce}'`,
    'worker-src blob:',
    "style-src 'unsafe-inline'",
    'img-src data:',
    'font-src data:',
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ')

/** GraphiQL for browsers: a GET that prefers HTML. Everything else goes on to the API. */
export function graphiql() {
  return async (req: Request, res: Response, next: NextFunction): Promise<void> => {
    if (req.accepts(['application/json', 'application/graphql-response+json', 'text/html']) !== 'text/html')
      return next()
    // Megabytes of page that most processes never serve: loaded with the first visitor.
    const { renderGraphiQL } = await import('@graphql-yoga/render-graphiql')
    const nonce = randomBytes(16).toString('base64')
    const page = renderGraphiQL({ title: 'Pet store GraphiQL', defaultTabs: examples })
      .replace('<div id="root">', (root) => headerBarHtml + root)
      .replace('<script>', () => `<script nonce="${nonce}">${bootstrapScript}`)
    res.setHeader('Content-Security-Policy', policy(nonce))
    res.setHeader('Referrer-Policy', 'no-referrer')
    res.type('html').send(page)
  }
}
