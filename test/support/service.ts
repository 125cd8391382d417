import { runProgram } from '../../src/cli/program.ts'
import { loadConfig } from '../../src/config/config.ts'
import { runInstance } from '../../src/instance.ts'
import { createLogger } from '../../src/telemetry/logger.ts'

// The service as a program, with the limits of TEST_LIMITS, a JSON object.
await runProgram(async (env) => {
  const config = loadConfig(env)
  await runInstance({ config, env, log: createLogger(config.LOG_LEVEL), limits: JSON.parse(env.TEST_LIMITS ?? '{}') })
})
