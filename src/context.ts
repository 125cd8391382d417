import { randomUUID } from 'node:crypto'
import type { NextFunction, Request, Response } from 'express'
import { ApiError } from './errors.ts'
import type { Caller, Keys } from './keys/service.ts'

export type { Caller }

declare module 'express-serve-static-core' {
  interface Request {
    /** Names the request in the log and to the client (`X-Request-Id`). */
    id: string
    /** Who is calling; there is one wherever `requireKey` stands before. */
    caller?: Caller
  }
}

const realm = 'Bearer realm="petstore"'

/** First of all: a request id, the client's own when it is sane, and headers that are right for every answer. */
export function beginRequest(req: Request, res: Response, next: NextFunction): void {
  const given = req.headers['x-request-id']
  req.id = typeof given === 'string' && /^[\w.:-]{1,128}$/.test(given) ? given : randomUUID()
  res.setHeader('X-Request-Id', req.id)
  res.setHeader('Cache-Control', 'no-store')
  res.setHeader('X-Content-Type-Options', 'nosniff')
  next()
}

/**
 * The one bearer-auth context, for both faces (specification §5, RFC 6750).
 * Answers 401 without a valid key, and 503 when the database that knows the keys cannot be asked.
 */
export function requireKey(keys: Keys) {
  return async (req: Request, _res: Response, next: NextFunction): Promise<void> => {
    const token = bearerToken(req)
    if (token === undefined) {
      const headers = { 'WWW-Authenticate': realm }
      throw new ApiError('UNAUTHENTICATED', 'Send an API key: Authorization: Bearer <API_KEY>.', { headers })
    }
    const caller = await keys.verify(token)
    if (!caller) {
      const headers = { 'WWW-Authenticate': `${realm}, error="invalid_token"` }
      throw new ApiError('UNAUTHENTICATED', 'The API key is not valid.', { headers })
    }
    req.caller = caller
    next()
  }
}

/** Who is calling, behind `requireKey`. */
export function callerOf(req: Request): Caller {
  if (!req.caller) throw new Error('callerOf was used where requireKey does not stand before')
  return req.caller
}

/** The token of the one Authorization header. Node keeps only the first of several, so the raw ones are counted. */
function bearerToken(req: Request): string | undefined {
  const values = req.headersDistinct.authorization
  if (values?.length !== 1) return undefined
  return /^Bearer +(\S+) *$/i.exec(values[0] ?? '')?.[1]
}
