/** This service's schema and store, served by Yoga's own handler in Express: what src/graphql/ saves beside the executor. */
import express from 'express'
import { createYoga } from 'graphql-yoga'
import { loadConfig } from '../../../src/config.ts'
import { schema } from '../../../src/graphql/schema/index.ts'
import { Deadline } from '../../../src/http/deadline.ts'
import { createAnimals } from '../../../src/pets/service.ts'
import { createService } from '../../../src/service.ts'
import { createLogger } from '../../../src/telemetry/logger.ts'
import { databaseUrl, host, isAllowed, port } from '../peers/peer.ts'

const config = loadConfig(process.env)
const { database } = createService({ config, databaseUrl, log: createLogger('silent') }) // it does not listen
const animals = createAnimals(database.statements, database.runCount)
const caller = { clientId: 1n }

const yoga = createYoga({
  schema,
  logging: false,
  context: () => ({ animals, caller, deadline: new Deadline(config.HANDLER_TIMEOUT_MS) }),
})

const app = express()
app.use((req, res, next) => {
  if (isAllowed(req.headers.authorization)) next()
  else res.status(401).json({ message: 'No key' })
})
app.use(yoga.graphqlEndpoint, yoga)
app.listen(port, host)
