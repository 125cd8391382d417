import { randomUUID } from 'node:crypto'
import type { Request, Response } from 'express'
import { ApiError, type ErrorCode } from '../errors.ts'
import { Deadline } from './deadline.ts'

/** Whom the API key or access token of a request belongs to. */
export interface Caller {
  /** Undefined for an access token. */
  keyId: bigint | undefined
  /** Shared by all keys of a rotation chain, and by all access tokens of a subject. */
  clientId: bigint
  /** `token` for an access token. */
  keyPrefix: string
  /** A hash of the subject of an access token, for the log. */
  subject?: string
  scopes: ReadonlySet<string>
  expiresAt: Date | null
}

declare module 'express-serve-static-core' {
  interface Request {
    /** Identifies the request in the log and to the client (`X-Request-Id`). */
    id: string
    deadline: Deadline
    /** The template of the route; `other` for an unknown path. Logs, metrics and spans name the template, not the path. */
    routeTemplate: string
    /** Set by `authenticate`. */
    caller?: Caller
    /** The selected GraphQL operation. Its name is untrusted: the client chose it. */
    operation?: { type: string; name: string | undefined }
    /** Set for a stream: how many events it has sent, how many milliseconds after the request it began, why it ended. */
    stream?: { readonly events: number; readonly beganAfterMs: number; readonly endReason: string | undefined }
    errorCode?: ErrorCode
  }
}

declare module 'node:http' {
  interface IncomingMessage {
    /** Why the rest of the body will not arrive. */
    bodyError?: ApiError
    /** Set while the body is received. */
    onBodyError?: ((error: ApiError) => void) | undefined
  }
}

/**
 * A longer Accept or Accept-Encoding is ignored: clients send at most a few hundred characters. To compare thousands of
 * media types with those of the service takes milliseconds, before `Turns` applies and even without a key.
 */
const MAX_ACCEPT_LENGTH = 1_000

/** The headers of every response, beside `X-Request-Id`, even of a response that the app did not send. */
export const COMMON_HEADERS = new Map([
  ['Cache-Control', 'no-store'],
  ['X-Content-Type-Options', 'nosniff'],
])

/** Closes the connection after the response. */
const CLOSE = { headers: { Connection: 'close' } }

const HOST_AND_PORT = /^([\w.-]+|\[[\da-f:.]+\])(:\d{1,5})?$/i

/** Sets the request id (the client's own if it is well-formed), the deadline, and the headers of every response. */
export function beginRequest(req: Request, res: Response, handlerTimeoutMs: number): void {
  const given = req.headers['x-request-id']
  req.id = typeof given === 'string' && /^[\w.:-]{1,128}$/.test(given) ? given : randomUUID()
  req.deadline = new Deadline(handlerTimeoutMs)
  // A server may disregard what a client accepts (RFC 9110 §12.4.1).
  for (const name of ['accept', 'accept-encoding']) {
    if (Number(req.headers[name]?.length) > MAX_ACCEPT_LENGTH) delete req.headers[name]
  }
  res.setHeader('X-Request-Id', req.id).setHeaders(COMMON_HEADERS)
}

/**
 * Rejects requests that no client of ours sends, and closes the connection: HTTP/1.1 without a Host; several Hosts or a
 * malformed one; a target that is not a path (RFC 9112 §3.2); Transfer-Encoding in HTTP/1.0, with which other servers may
 * see another end of the body (RFC 9112 §6.1); an expectation other than 100-continue (RFC 9110 §10.1.1).
 */
export function requireValidHead(req: Request): void {
  const { headers, httpVersion, url } = req
  const hosts = headerValues(req, 'host')
  const isHostValid =
    hosts.length === 1 ? HOST_AND_PORT.test(hosts[0] ?? '') : hosts.length === 0 && httpVersion === '1.0'
  if (!isHostValid || !url.startsWith('/')) {
    throw new ApiError('INVALID_ARGUMENT', 'Send one valid Host header and a path as the request target.', CLOSE)
  }
  if (httpVersion === '1.0' && headers['transfer-encoding'] !== undefined) {
    throw new ApiError('INVALID_ARGUMENT', 'HTTP/1.0 has no Transfer-Encoding: send Content-Length.', CLOSE)
  }
  if ((headers.expect ?? '100-continue').toLowerCase() !== '100-continue') {
    throw new ApiError('EXPECTATION_FAILED', undefined, CLOSE)
  }
}

/** All values of a header, by its name in lower case. For Node's `headersDistinct` each line would keep 100 bytes. */
export function headerValues({ rawHeaders }: Request, name: string): string[] {
  const values: string[] = []
  for (let n = 0; n < rawHeaders.length; n += 2) {
    const given = rawHeaders[n] ?? ''
    if (given.length === name.length && given.toLowerCase() === name) values.push(rawHeaders[n + 1] ?? '')
  }
  return values
}

export function callerOf(req: Request): Caller {
  if (!req.caller) throw new Error('callerOf needs authenticate before it')
  return req.caller
}

/** Copies a text: in V8, a part of a text keeps the whole text in memory. */
export const copyOf = (text: string): string => Buffer.from(text).toString()
