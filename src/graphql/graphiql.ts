import { randomBytes } from 'node:crypto'
import type { NextFunction, Request, Response } from 'express'
import { bar, examples, script } from './graphiql-page.ts'

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

/**
 * GraphiQL for browsers: a GET that prefers HTML. Everything else goes on to the API.
 * @param devKey the API key to begin with, for a browser on this machine, so that a first look needs no set-up
 */
export function graphiql(devKey: string | undefined) {
  return async (req: Request, res: Response, next: NextFunction): Promise<void> => {
    if (req.accepts(['application/json', 'application/graphql-response+json', 'text/html']) !== 'text/html')
      return next()
    // Megabytes of page that most processes never serve: loaded with the first visitor.
    const { renderGraphiQL } = await import('@graphql-yoga/render-graphiql')
    const nonce = randomBytes(16).toString('base64')
    const page = renderGraphiQL({ title: 'Pet store GraphiQL', defaultTabs: examples })
      .replace('<div id="root">', (root) => bar(devKey && isOwnMachine(req) ? devKey : '') + root)
      .replace('<script>', () => `<script nonce="${nonce}">${script}`)
    res.setHeader('Content-Security-Policy', policy(nonce))
    res.setHeader('Referrer-Policy', 'no-referrer')
    res.type('html').send(page)
  }
}

/** Both ends are this machine: the peer, and the name it asked for, which a tunnel or a rebound DNS name is not. */
function isOwnMachine(req: Request): boolean {
  const peer = /^(::ffff:)?127\.|^::1$/.test(req.socket.remoteAddress ?? '')
  return peer && /^(localhost|127\.[\d.]+|\[::1\])(:\d+)?$/.test(req.headers.host ?? '')
}
