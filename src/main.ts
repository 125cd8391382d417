import { getHeapStatistics } from 'node:v8'
import { runProgram } from './cli/program.ts'
import { loadConfig } from './config/config.ts'
import { REMOVED_VARIABLES } from './config/environment.ts'
import { OperatorError } from './lib/operator-error.ts'
import { createLogger } from './telemetry/logger.ts'

/**
 * The service logs a warning at startup if the limit of its heap, with the young generation, is below this number of MB.
 * `--max-old-space-size=96` makes the limit 144, and 64 makes it 112. Under load, the service ran out of memory with 40.
 */
const MIN_HEAP_MB = 128

await runProgram(async (env) => {
  if (process.argv.length > 2) {
    throw new OperatorError('The service takes no arguments except --help; environment variables configure it.')
  }
  const config = loadConfig(env)
  const log = createLogger(config.LOG_LEVEL)
  for (const name of REMOVED_VARIABLES) if (env[name]) log.warn(`${name} is not read any more: see the changelog`)
  const heapMb = Math.round(getHeapStatistics().heap_size_limit / 1_048_576)
  if (heapMb < MIN_HEAP_MB) log.warn({ heapMb }, 'the heap is too small for load: set --max-old-space-size=96 or more')
  // Loading the libraries of the service takes most of the time of a start, so the configuration is checked before that.
  const { runInstance } = await import('./instance.ts')
  await runInstance({ config, env, log })
})
