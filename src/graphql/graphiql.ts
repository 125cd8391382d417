import type { NextFunction, Request, Response } from 'express'

/** All that the page is made of comes with it; it talks to this server and to nobody else. */
const policy = [
  "default-src 'none'",
  "script-src 'unsafe-inline' 'unsafe-eval' blob:",
  'worker-src blob:',
  "style-src 'unsafe-inline'",
  'img-src data:',
  'font-src data:',
  "connect-src 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ')

const welcome = `# Send your API key: put it into the Headers tab below, after "Bearer ".
# Then press the play button. The book icon on the left opens the documentation.

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
    const key = devKey && isLoopback(req.socket.remoteAddress) ? devKey : ''
    res.setHeader('Content-Security-Policy', policy)
    res.setHeader('Referrer-Policy', 'no-referrer')
    res.type('html').send(
      renderGraphiQL({
        title: 'Pet store GraphiQL',
        defaultQuery: welcome,
        headers: JSON.stringify({ Authorization: `Bearer ${key}` }, null, 2),
        defaultEditorToolsVisibility: 'headers',
        shouldPersistHeaders: true,
      }),
    )
  }
}

function isLoopback(address = ''): boolean {
  return /^(::ffff:)?127\.|^::1$/.test(address)
}
