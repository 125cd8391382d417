import { posix } from 'node:path'
import type { Request, Response } from 'express'

/** @returns a function that finds the template that a path matches, or `other` if the path matches none */
export function createRouteOf(templates: string[]): (path: string) => string {
  const fixed = new Set(templates)
  const patterns = templates
    .filter((template) => template.includes('{'))
    .map((template) => [template, new RegExp(`^${template.replace(/\{\w+\}/g, '[^/]+')}$`)] as const)
  return (path) => (fixed.has(path) ? path : (patterns.find(([, pattern]) => pattern.test(path))?.[0] ?? 'other'))
}

/**
 * Redirects a path with a slash at its end, such as `/docs/`, to the route without the slash, if there is one. The redirect
 * is permanent, keeps method and body (RFC 9110 §15.4.9), and is relative, since a proxy may have stripped a prefix.
 * @returns whether it has responded
 */
export function redirectTrailingSlash(req: Request, res: Response, routeOf: (path: string) => string): boolean {
  if (!/[^/]\/$/.test(req.path) || routeOf(req.path.slice(0, -1)) === 'other') return false
  res.status(308).setHeader('Location', `../${posix.basename(req.path)}${req.url.slice(req.path.length)}`)
  res.end()
  return true
}
