import type { Response } from 'express'

/** Sends a JSON body. Five times as fast as `res.type('json').send(json)`. */
export function sendJson(res: Response, json: string, mediaType = 'application/json'): void {
  res.setHeader('Content-Type', `${mediaType}; charset=utf-8`)
  res.setHeader('Content-Length', Buffer.byteLength(json)) // Node omits it in responses to HEAD
  res.end(json)
}
