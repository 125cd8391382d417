import { randomBytes } from 'node:crypto'
import type { NextFunction, Request, Response } from 'express'

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

const welcome = `# Your API key goes into the Headers below, after
# "Bearer ". The arrows at the bottom left then
# fetch the docs; the book at the top opens them.
# The pink button runs the query.

query Pets {
  pets(first: 5) {
    nodes { id name categoryId status }
    pageInfo { hasNextPage endCursor }
  }
}
`

/**
 * GraphiQL for browsers: a GET that prefers HTML. Everything else goes on to the API.
 * @param devKey filled into the headers for a browser on this machine, so that a first look needs no set-up
 */
export function graphiql(devKey: string | undefined) {
  return async (req: Request, res: Response, next: NextFunction): Promise<void> => {
    if (req.accepts(['application/json', 'application/graphql-response+json', 'text/html']) !== 'text/html')
      return next()
    // Megabytes of page that most processes never serve: loaded with the first visitor.
    const { renderGraphiQL } = await import('@graphql-yoga/render-graphiql')
    const key = devKey && isOwnMachine(req) ? devKey : ''
    const headers = JSON.stringify({ Authorization: `Bearer ${key}` }, null, 2)
    const page = renderGraphiQL({
      title: 'Pet store GraphiQL',
      defaultQuery: welcome,
      headers,
      defaultEditorToolsVisibility: 'headers',
      shouldPersistHeaders: true,
    })
    const nonce = randomBytes(16).toString('base64')
    res.setHeader('Content-Security-Policy', policy(nonce))
    res.setHeader('Referrer-Policy', 'no-referrer')
    res.type('html').send(page.replace('<script>', () => `<script nonce="${nonce}">${prepareStorage(headers)}`))
  }
}

/**
 * A script that begins afresh in a browser that holds what another service left at this address, or a development key
 * of another day. It stores the first query as well: without one, GraphiQL opens an empty tab on every reload.
 */
function prepareStorage(headers: string): string {
  const first = { 'graphiql:pet-store': headers, 'graphiql:headers': headers, 'graphiql:query': welcome }
  return `
    if (localStorage.getItem('graphiql:pet-store') !== ${JSON.stringify(headers)}) {
      localStorage.removeItem('graphiql:tabState')
      for (const item of Object.entries(${JSON.stringify(first)})) localStorage.setItem(...item)
    }`
}

/** Both ends are this machine: the peer, and the name it asked for, which a tunnel or a rebound DNS name is not. */
function isOwnMachine(req: Request): boolean {
  const peer = /^(::ffff:)?127\.|^::1$/.test(req.socket.remoteAddress ?? '')
  return peer && /^(localhost|127\.[\d.]+|\[::1\])(:\d+)?$/.test(req.headers.host ?? '')
}
