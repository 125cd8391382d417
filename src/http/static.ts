import type { Response } from 'express'

/** A response that is built once and sent to every client. */
export interface StaticResponse {
  headers: Readonly<Record<string, string>>
  body: Buffer
}

/** The Content-Security-Policy of a page that loads nothing but what these directives allow, and is in no frame. */
export function contentSecurityPolicy(...allowed: string[]): string {
  return ["default-src 'none'", ...allowed, "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"].join(
    '; ',
  )
}

/**
 * Sends a static response. Node writes the buffer as it is, so clients that read slowly share one copy of it; to HEAD
 * it writes the same headers and no body (RFC 9110 §9.3.2).
 */
export function sendStatic(res: Response, { headers, body }: StaticResponse): void {
  for (const [name, value] of Object.entries(headers)) res.setHeader(name, value)
  res.setHeader('Content-Length', body.length)
  res.end(body)
}
