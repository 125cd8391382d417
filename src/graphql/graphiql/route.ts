import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import type { NextFunction, Request, Response } from 'express'
import { contentSecurityPolicy, sendStatic, type StaticResponse } from '../../http/static.ts'

const MEDIA_TYPES = ['application/json', 'application/graphql-response+json', 'text/html']

/** The files of the page: those of src/, also for the compiled code in dist/. */
const files = new URL('../../../src/graphql/graphiql/', import.meta.url)

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
  const examples = readExamples()
  const read = (file: string) => readFileSync(new URL(file, files), 'utf8')
  const meta = '<meta name="viewport" content="width=device-width, initial-scale=1">'
  const header = `${meta}<style>${read('header.css')}</style>${read('header.html')}`
  const bootstrap = read('bootstrap.js').replace('FIRST_EXAMPLE', () => JSON.stringify(examples[0]?.query))
  const html = renderGraphiQL({ title: 'Pet store GraphiQL', defaultTabs: examples })
    .replace('<div id="root">', (root) => header + root)
    .replace('<script>', (start) => `<script>${bootstrap}</script>${start}`)
  return {
    headers: {
      'Content-Type': 'text/html; charset=utf-8',
      'Content-Security-Policy': policyOf(html),
      'Referrer-Policy': 'no-referrer',
    },
    body: Buffer.from(html),
  }
}

/** The initial tabs: every field of Query and Mutation has an example. */
function readExamples(): { query: string; variables?: string }[] {
  const folder = new URL('examples/', files)
  const names = readdirSync(folder).sort()
  const read = (name: string) => readFileSync(new URL(name, folder), 'utf8')
  return names
    .filter((name) => name.endsWith('.graphql'))
    .map((name) => ({ query: read(name), variables: name.replace(/graphql$/, 'json') }))
    .map(({ query, variables }) => ({ query, ...(names.includes(variables) && { variables: read(variables).trim() }) }))
}

/** Scripts are allowed by their hash (CSP Level 3 §2.3.1): a nonce would differ in each response. */
function policyOf(html: string): string {
  const scripts = [...html.matchAll(/<script>([^]*?)<\/script>/g)].map(([, script = '']) => script)
  const hashes = scripts.map((script) => `'sha256-${createHash('sha256').update(script).digest('base64')}'`)
  const assets = ['worker-src blob:', "style-src 'unsafe-inline'", 'img-src data:', 'font-src data:']
  return contentSecurityPolicy(`script-src ${hashes.join(' ')}`, ...assets, "connect-src 'self'")
}
