/**
 * Whether `If-None-Match` has the ETag, by weak comparison (RFC 9110 §13.1.2). Express's `req.fresh` returns false for
 * `Cache-Control: no-cache`, which fetch sends.
 */
export function etagMatches(ifNoneMatch: string | undefined, etag: string): boolean {
  const tags = new Set((ifNoneMatch ?? '').split(',').map((tag) => tag.trim().replace(/^W\//, '')))
  return tags.has(etag) || tags.has('*')
}
