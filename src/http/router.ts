import { posix } from 'node:path'
import type { IRouter, Request, RequestHandler, Response } from 'express'
import { ApiError } from '../errors.ts'

/** What the routes handle, each some of them, beside OPTIONS. */
export const METHODS = ['GET', 'HEAD', 'POST']

/** The value of `Allow`: every route handles OPTIONS. */
export function allow(methods: string[]): string {
  return [...methods, 'OPTIONS'].join(', ')
}

/** Adds a resource that can only be read. */
export function addReadRoute(app: IRouter, path: string, handler: RequestHandler): void {
  app.route(path).get(handler).all(allowMethods('GET', 'HEAD'))
}

/** The last handler of a route. Responds 204 to OPTIONS and 405 to methods without a handler, both with `Allow`. */
export function allowMethods(...methods: string[]): RequestHandler {
  const allowed = allow(methods)
  return (req: Request, res: Response) => {
    if (req.method === 'OPTIONS') {
      res.status(204).setHeader('Allow', allowed).end()
      return
    }
    throw new ApiError('METHOD_NOT_ALLOWED', `Method not allowed. Allowed methods: ${allowed}.`, {
      headers: { Allow: allowed },
    })
  }
}

/** @returns finds the template that a path matches; `other` when it matches none */
export function createRouteOf(templates: string[]): (path: string) => string {
  const fixed = new Set(templates.filter((template) => !template.includes('{')))
  const patterns = templates
    .filter((template) => template.includes('{'))
    .map((template) => [template, new RegExp(`^${template.replace(/\{\w+\}/g, '[^/]+')}$`)] as const)
  return (path) => (fixed.has(path) ? path : (patterns.find(([, pattern]) => pattern.test(path))?.[0] ?? 'other'))
}

/**
 * Redirects an address with a slash at its end, such as `/docs/`, to the one without, if that exists. Permanent, with the same
 * method and body (RFC 9110 §15.4.9), and relative, since a proxy may have stripped a prefix from the path.
 * @returns whether it has responded
 */
export function redirectTrailingSlash(req: Request, res: Response, routeOf: (path: string) => string): boolean {
  if (!/[^/]\/$/.test(req.path) || routeOf(req.path.slice(0, -1)) === 'other') return false
  res.status(308).setHeader('Location', `../${posix.basename(req.path)}${req.url.slice(req.path.length)}`)
  res.end()
  return true
}
