import { IncomingMessage, type ServerOptions, ServerResponse } from 'node:http'
import type { Express } from 'express'

/**
 * Classes for `http.createServer` whose objects already are what Express makes of each request and response.
 *
 * Express changes the prototype of both, which costs Node 20 and 22 some 0.07 ms a request: V8 forgets all it knew of
 * their shape (expressjs/express#5998, nodejs/node#37457). Born with that prototype, the change finds nothing to do.
 */
export function expressPrototypes(app: Express): Pick<ServerOptions, 'IncomingMessage' | 'ServerResponse'> {
  class Request extends IncomingMessage {}
  class Response<R extends IncomingMessage> extends ServerResponse<R> {}
  app.request = Object.setPrototypeOf(Request.prototype, app.request)
  app.response = Object.setPrototypeOf(Response.prototype, app.response)
  return { IncomingMessage: Request, ServerResponse: Response }
}
