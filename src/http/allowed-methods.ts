import type { IRouter, RequestHandler } from 'express'
import { ApiError } from '../errors.ts'

/** The methods of the API. Each route handles some of them, and all routes except `/` respond to OPTIONS. */
export const METHODS = ['GET', 'HEAD', 'POST']

/** The value of `Allow` for a route with these methods and OPTIONS. */
export function allowHeader(methods: string[]): string {
  return [...methods, 'OPTIONS'].join(', ')
}

export function addReadRoute(app: IRouter, path: string, handler: RequestHandler): void {
  app.route(path).get(handler).all(rejectOtherMethods('GET', 'HEAD'))
}

/** The last handler of a route. Responds 204 to OPTIONS and 405 to methods without a handler, both with `Allow`. */
export function rejectOtherMethods(...methods: string[]): RequestHandler {
  const headers = { Allow: allowHeader(methods) }
  return (req, res) => {
    if (req.method === 'OPTIONS') return void res.status(204).set(headers).end()
    throw new ApiError('METHOD_NOT_ALLOWED', `Method not allowed. Allowed methods: ${headers.Allow}.`, { headers })
  }
}
