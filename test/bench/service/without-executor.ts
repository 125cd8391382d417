/** This service without useExecutor, which a schema with an interface switches off. */
import type { Builder } from '../../../src/graphql/schema/builder.ts'
import { loadConfig } from '../../../src/config/config.ts'
import { RESOURCES } from '../../../src/resources.ts'
import { createService } from '../../../src/service.ts'
import { createLogger } from '../../../src/telemetry/logger.ts'
import { databaseUrl, host, port } from '../peers/peer.ts'

const resources = RESOURCES.map((one) => ({
  ...one,
  addToSchema(builder: Builder) {
    one.addToSchema(builder)
    builder.interfaceRef('Unused').implement({ fields: (t) => ({ id: t.id({ resolve: () => '' }) }) })
  },
}))
const config = loadConfig(process.env)
const service = createService({ resources, config, databaseUrl, log: createLogger(config.LOG_LEVEL) })
await service.start({ port, host })
