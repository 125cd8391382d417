import { posix } from 'node:path'
import type { Request, Response } from 'express'

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
