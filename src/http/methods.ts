import type { Request, RequestHandler, Response } from 'express'
import { ApiError } from '../errors.ts'

/** The last handler of a route: OPTIONS is answered 204, any method that no handler took 405, both with `Allow`. */
export function allowMethods(...methods: string[]): RequestHandler {
  const allowed = [...methods, 'OPTIONS'].join(', ')
  return (req: Request, res: Response) => {
    if (req.method === 'OPTIONS') {
      res.status(204).setHeader('Allow', allowed).end()
      return
    }
    throw new ApiError('METHOD_NOT_ALLOWED', `This address takes ${allowed}.`, { headers: { Allow: allowed } })
  }
}
