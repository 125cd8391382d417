import type { RequestHandler } from 'express'
import { staticPage } from '../http/static.ts'

/** The page at `/` in a browser: what is here and where. Programs get the 404 of an address that does not exist. */
export function homePage(): RequestHandler {
  const page = staticPage('home.html', "style-src 'self'; img-src data:")
  return (req, res, next) => {
    res.vary('Accept')
    return req.accepts(['application/json', 'text/html']) === 'text/html' ? page(req, res, next) : next()
  }
}
