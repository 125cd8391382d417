/** Apollo Server in Express, as its documentation sets it up; tuned, without what Express costs on Node 20. */
import { createServer, IncomingMessage, type ServerOptions, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { ApolloServer } from '@apollo/server'
import { expressMiddleware } from '@as-integrations/express5'
import express from 'express'
import { host, isAllowed, port, tuned } from './peer.ts'
import { createPrismaStore } from './prisma-store.ts'
import { resolversOn, typeDefs } from './schema.ts'

const server = new ApolloServer({ typeDefs, resolvers: resolversOn(createPrismaStore(String)) })
await server.start()

const app = express()
app.use((req, res, next) => {
  if (isAllowed(req.headers.authorization)) next()
  else res.status(401).json({ message: 'No key' })
})
app.use('/graphql', express.json(), expressMiddleware(server))

createServer(tuned ? expressClasses() : {}, app).listen(port, host)

/**
 * Messages that are Express's from birth, so that it need not change the prototype of each (express#5998). Functions, as
 * a class cannot be given another prototype; `call`, as Reflect.construct would cost more than is gained.
 */
function expressClasses(): ServerOptions {
  function Request(this: IncomingMessage, socket: Socket): void {
    IncomingMessage.call(this, socket)
  }
  function Response(this: ServerResponse, req: IncomingMessage): void {
    ServerResponse.call(this, req)
  }
  Request.prototype = app.request
  Response.prototype = app.response
  // TypeScript does not know a function as a class, though `new` makes the same of it.
  return { IncomingMessage: Request, ServerResponse: Response } as unknown as ServerOptions
}
