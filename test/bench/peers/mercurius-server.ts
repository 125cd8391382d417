import fastify from 'fastify'
import mercurius from 'mercurius'
import { host, isAllowed, port } from './peer.ts'
import { resolversOn, typeDefs } from './schema.ts'
import type { Store } from './store.ts'

/** Mercurius in Fastify, each query compiled when it is first seen. */
export async function serveMercurius<Int>(store: Store<Int>): Promise<void> {
  const app = fastify()
  app.addHook('onRequest', async (req, reply) => {
    if (!isAllowed(req.headers.authorization)) await reply.code(401).send({ message: 'No key' })
  })
  await app.register(mercurius, { schema: typeDefs, resolvers: resolversOn(store), jit: 1 })
  await app.listen({ port, host })
}
