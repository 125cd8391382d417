import { IncomingMessage, type ServerOptions, ServerResponse } from 'node:http'
import type { Express } from 'express'

/**
 * Classes for `http.createServer` whose objects already have the prototypes that Express sets.
 *
 * Express changes the prototype of both, which costs Node 20 and 22 some 0.1 ms a request: V8 drops its inline caches
 * (expressjs/express#5998, nodejs/node#37457). With these classes the change has no effect. Node 24 and newer do not need
 * them (docs/decisions/0023-node-lines.md).
 */
export function expressPrototypes(app: Express): Pick<ServerOptions, 'IncomingMessage' | 'ServerResponse'> {
  class Request extends IncomingMessage {}
  class Response<R extends IncomingMessage> extends ServerResponse<R> {}
  app.request = Object.setPrototypeOf(Request.prototype, app.request)
  app.response = Object.setPrototypeOf(Response.prototype, app.response)
  return { IncomingMessage: Request, ServerResponse: Response }
}
