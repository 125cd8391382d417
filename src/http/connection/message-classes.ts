import { IncomingMessage, ServerResponse } from 'node:http'
import type { Express } from 'express'

/**
 * The classes of requests and responses for `http.createServer`. They have the prototypes that Express would
 * otherwise set on each object, which costs Node 20 and 22 some 0.1 ms a request, since V8 drops its inline caches
 * (expressjs/express#5998, docs/decisions/0023-node-lines.md).
 * @param onEnd called when the app has ended a response, which may still wait for its client
 */
export function createMessageClasses(app: Express, onEnd: (res: ServerResponse) => void) {
  class Request extends IncomingMessage {}

  class Response<R extends IncomingMessage> extends ServerResponse<R> {
    /** A response before the end of its request's body closes the connection, and announces that (RFC 9112 §9.6). */
    override writeHead(...args: unknown[]): this {
      if (!this.req.complete && hasBody(this.req)) this.shouldKeepAlive = false
      return super.writeHead(...(args as [number])) // the arguments of one of its overloads
    }

    override end(...args: unknown[]): this {
      super.end(...(args as [])) // the arguments of one of its overloads
      // Frees the body, because the response may wait behind a pipelined one that is a stream.
      if (hasBody(this.req)) Object.assign(this.req, { body: undefined })
      onEnd(this)
      return this
    }
  }
  app.request = Object.setPrototypeOf(Request.prototype, app.request)
  app.response = Object.setPrototypeOf(Response.prototype, app.response)
  return { IncomingMessage: Request, ServerResponse: Response }
}

function hasBody({ headers }: IncomingMessage): boolean {
  return 'transfer-encoding' in headers || Number(headers['content-length'] ?? 0) > 0
}
