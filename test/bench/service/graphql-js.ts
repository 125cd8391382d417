/** This service with GraphQL.js as its executor: what src/graphql/plugins/executor.ts saves. */
import { execute } from 'graphql'
import { loadConfig } from '../../../src/config.ts'
import { RESOURCES } from '../../../src/resources.ts'
import { createService } from '../../../src/service.ts'
import { createLogger } from '../../../src/telemetry/logger.ts'
import { databaseUrl, host, port } from '../peers/peer.ts'

const executor = {
  onExecute: ({ setExecuteFn }: { setExecuteFn(fn: typeof execute): void }) => setExecuteFn(execute),
}

const config = loadConfig(process.env)
const service = createService({
  resources: RESOURCES,
  config,
  databaseUrl,
  log: createLogger(config.LOG_LEVEL),
  plugins: [executor],
})
await service.start({ port, host })
