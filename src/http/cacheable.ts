import { hash } from 'node:crypto'
import type { Request, Response } from 'express'
import { etagMatches } from '../http/etag.ts'
import { toJson } from '../http/json.ts'
import { sendJson } from '../http/send-json.ts'

/** The response to a read, which concurrent identical requests share. */
export interface CacheableResponse {
  json: string
  etag: string
  link?: string
}

export function toCacheable(body: unknown): CacheableResponse {
  const json = toJson(body)
  return { json, etag: `"${hash('sha256', json, 'base64url').slice(0, 22)}"` }
}

/** Sends a read with its ETag: 304 when `If-None-Match` has it (RFC 9110 §13.1.2). */
export function sendCacheable(req: Request, res: Response, { json, etag, link }: CacheableResponse): void {
  res.setHeader('Cache-Control', 'private, no-cache')
  res.setHeader('ETag', etag)
  if (link) res.setHeader('Link', link)
  if (etagMatches(req.headers['if-none-match'], etag)) res.status(304).end()
  else sendJson(res, json)
}
