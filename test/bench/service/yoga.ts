/** This service's schema and store, served by Yoga's own handler in Express: what src/graphql/ saves beside the executor. */
import express from 'express'
import { createYoga } from 'graphql-yoga'
import { loadConfig } from '../../../src/config/config.ts'
import { createResourceServices } from '../../../src/resource-services.ts'
import { Deadline } from '../../../src/http/deadline.ts'
import { RESOURCES } from '../../../src/resources.ts'
import { createService } from '../../../src/service.ts'
import { createLogger } from '../../../src/telemetry/logger.ts'
import { databaseUrl, host, isAllowed, port } from '../peers/peer.ts'
import { schema } from '../../support/schema.ts'

const config = loadConfig(process.env)
const { database } = createService({ resources: RESOURCES, config, databaseUrl, log: createLogger('silent') }) // it does not listen
const services = createResourceServices(
  RESOURCES.map(({ resource }) => resource),
  database,
  { maxWaitMs: config.HANDLER_TIMEOUT_MS, observe() {} },
)
const caller = { clientId: 1n }

const yoga = createYoga({
  schema,
  logging: false,
  context: () => ({ services, caller, deadline: new Deadline(config.HANDLER_TIMEOUT_MS) }),
})

const app = express()
app.use((req, res, next) => {
  if (isAllowed(req.headers.authorization)) next()
  else res.status(401).json({ message: 'No key' })
})
app.use(yoga.graphqlEndpoint, yoga)
app.listen(port, host)
