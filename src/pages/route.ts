import { Router } from 'express'
import { contentSecurityPolicy, PAGE_HEADERS, staticPage } from '../http/static.ts'

/** `/` in a browser: what is here and where. Programs get the 404 of an address that does not exist. */
export function homeRouter(): Router {
  const page = staticPage(
    { ...PAGE_HEADERS, 'Content-Security-Policy': contentSecurityPolicy("style-src 'self'; img-src data:") },
    'home.html',
  )
  return Router().get('/', (req, res, next) => {
    res.vary('Accept')
    return req.accepts(['application/json', 'text/html']) === 'text/html' ? page(req, res, next) : next()
  })
}
