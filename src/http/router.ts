import { type Request, type RequestHandler, type Response, Router } from 'express'
import { ApiError } from '../errors.ts'

/** A router whose paths are exact: neither another case nor a slash at the end. */
export function createRouter(): Router {
  return Router({ strict: true, caseSensitive: true })
}

/** The last handler of a route. Responds 204 to OPTIONS and 405 to methods without a handler, both with `Allow`. */
export function allowMethods(...methods: string[]): RequestHandler {
  const allowed = [...methods, 'OPTIONS'].join(', ')
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
