import { hash } from 'node:crypto'
import { existsSync, readdirSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import { brotliCompress, gzip } from 'node:zlib'
import type { IRouter, RequestHandler } from 'express'
import { OperatorError } from '../lib/operator-error.ts'
import { PROJECT } from '../project.ts'
import { etagMatches } from './cacheable.ts'
import { addReadRoute } from './allowed-methods.ts'

/** The folder that src/build/pages.mjs writes. */
const PUBLIC = new URL('dist/public/', PROJECT)

/** Content codings (RFC 9110 §8.4.1), best first, with the suffixes of compressed files. */
const SUFFIXES = { br: '.br', gzip: '.gz', identity: '' }
type Coding = keyof typeof SUFFIXES
const CODINGS = Object.keys(SUFFIXES) as Coding[] // the keys of the record's own type

const compress = { br: promisify(brotliCompress), gzip: promisify(gzip), identity: async (body: Buffer) => body }

/** Serves a text that is the same for every client. It is created when it is first requested, once for each content coding. */
export function staticText(contentType: string, create: () => string): RequestHandler {
  const headers = { 'Content-Type': `${contentType}; charset=utf-8` }
  return serveVariants(headers, CODINGS, (coding) => compress[coding](Buffer.from(create())))
}

/**
 * Serves a page that the build wrote.
 * @param allowed directives to add to its Content-Security-Policy, which allows scripts and requests of this origin
 */
export function staticPage(file: string, allowed: string): RequestHandler {
  const others = "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
  const headers = {
    'Content-Type': 'text/html; charset=utf-8',
    'Referrer-Policy': 'no-referrer',
    'Content-Security-Policy': `default-src 'none'; script-src 'self'; connect-src 'self'; ${allowed}; ${others}`,
  }
  return serveVariants(headers, CODINGS, (coding) => readFile(new URL(file + SUFFIXES[coding], PUBLIC)))
}

/** Calls the handler for requests that prefer HTML to JSON and to `mediaTypes`. Other requests go to the next handler. */
export function forBrowsers(handler: RequestHandler, ...mediaTypes: string[]): RequestHandler {
  const types = ['application/json', ...mediaTypes, 'text/html']
  return (req, res, next) => {
    res.vary('Accept')
    return req.accepts(types) === 'text/html' ? handler(req, res, next) : next()
  }
}

/** `/assets/{file}`: what the pages refer to. Names contain a hash of the content, so clients may cache them forever. */
export function addAssetRoutes(app: IRouter): void {
  const folder = new URL('assets/', PUBLIC)
  if (!existsSync(folder))
    throw new OperatorError('dist/public/ does not exist: npm run build, or deploy all of dist/.')
  const files = readdirSync(folder)
  const headers = { 'Cache-Control': 'public, max-age=31536000, immutable' }
  for (const file of files.filter((name) => !/\.(br|gz)$/.test(name))) {
    const codings = CODINGS.filter((coding) => files.includes(file + SUFFIXES[coding]))
    const handler = serveVariants(headers, codings, (coding) => readFile(new URL(file + SUFFIXES[coding], folder)))
    addReadRoute(app, `/assets/${file}`, (req, res, next) => handler(req, res.type(file), next))
  }
}

/**
 * Serves a body that is read once for each content coding. Node writes the buffer as it is, so clients that read slowly
 * share one copy of it; to HEAD it writes the same headers and no body (RFC 9110 §9.3.2).
 */
function serveVariants(headers: object, codings: Coding[], read: (coding: Coding) => Promise<Buffer>): RequestHandler {
  const readVariant = (coding: Coding) => read(coding).then((body) => ({ body, etag: `"${hash('sha256', body)}"` }))
  const variants = new Map<Coding, ReturnType<typeof readVariant>>()
  return async (req, res) => {
    const coding = codings.find((one) => req.acceptsEncodings(one)) ?? 'identity'
    const variant = variants.get(coding) ?? readVariant(coding)
    variants.set(coding, variant)
    variant.catch(() => variants.delete(coding)) // the next request reads it again
    const { body, etag } = await variant
    res.set({ 'Cache-Control': 'no-cache', ETag: etag, ...headers }).vary('Accept-Encoding')
    if (coding !== 'identity') res.setHeader('Content-Encoding', coding)
    if (etagMatches(req.headers['if-none-match'], etag)) return void res.status(304).end()
    res.setHeader('Content-Length', body.length)
    res.end(body)
  }
}
