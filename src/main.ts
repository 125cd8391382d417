import { runProgram } from './cli/program.ts'
import { loadConfig } from './config.ts'
import { REMOVED_VARIABLES } from './environment.ts'
import { OperatorError } from './operator-error.ts'
import { createLogger } from './telemetry/logger.ts'

await runProgram(async (env) => {
  if (process.argv.length > 2) {
    throw new OperatorError('The service takes no arguments except --help; environment variables configure it.')
  }
  const config = loadConfig(env)
  const log = createLogger(config.LOG_LEVEL)
  for (const name of REMOVED_VARIABLES) if (env[name]) log.warn(`${name} is not read any more: see the changelog`)
  // Loading the libraries of the service takes most of the time of a start, so the configuration is checked before that.
  const { runInstance } = await import('./instance.ts')
  await runInstance({ config, env, log })
})
