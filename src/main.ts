import { getHeapStatistics } from 'node:v8'
import { runProgram } from './cli/program.ts'
import { loadConfig } from './config.ts'
import { describeEnvironment, REMOVED_VARIABLES } from './environment.ts'
import { OperatorError } from './operator-error.ts'
import { createLogger } from './telemetry/logger.ts'

/**
 * A start warns below this limit of the heap, in MB, with the young generation: `--max-old-space-size=96` makes it 120.
 * Under load the service ran out with 40.
 */
const MIN_HEAP_MB = 112

await runProgram(async (env) => {
  if (process.argv.length > 2) {
    throw new OperatorError('The service takes no arguments except --help; environment variables configure it.')
  }
  const config = loadConfig(env)
  const log = createLogger(config.LOG_LEVEL)
  for (const name of REMOVED_VARIABLES) if (env[name]) log.warn(`${name} is not read any more: see the changelog`)
  const heapMb = Math.round(getHeapStatistics().heap_size_limit / 1_048_576)
  if (heapMb < MIN_HEAP_MB) log.warn({ heapMb }, 'the heap is too small for load: set --max-old-space-size=96 or more')
  // The libraries of the service take most of the time of a start. A mistake in the configuration is reported without them.
  const { runInstance } = await import('./instance.ts')
  await runInstance({ config, env, log })
}, describeEnvironment)
