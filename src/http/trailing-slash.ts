import type { Request, Response } from 'express'

/** Addresses that people type, as browsers complete them: to their last segments. */
const TYPED = new Map([
  ['/docs/', 'docs'],
  ['/graphql/', 'graphql'],
  ['/v1/pets/', 'pets'],
])

/**
 * Redirects `/docs/` to `/docs`, and the addresses of both APIs in the same way. Permanent, with the same method and
 * body (RFC 9110 §15.4.9), and relative, since a proxy may have stripped a prefix from the path.
 * @returns whether it has responded
 */
export function redirectTrailingSlash(req: Request, res: Response): boolean {
  const segment = TYPED.get(req.path)
  if (segment === undefined) return false
  res.status(308).setHeader('Location', `../${segment}${req.url.slice(req.path.length)}`)
  res.end()
  return true
}
