import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { join } from 'node:path'
import { WrongResponse } from './check.ts'
import { type Cleanup, createCleanup } from './cleanup.ts'
import { compare } from './compare.ts'
import { startPostgres } from './database.ts'
import { growth, growthTable } from './growth.ts'
import { findLoader } from './load/find.ts'
import { OperatorError } from '../../src/lib/operator-error.ts'
import { type Options, parseOptions } from './options.ts'
import { outcomeTable } from './overload/outcome.ts'
import { overload } from './overload/overload.ts'
import { bench, bun, coresFor, node22 } from './paths.ts'
import { comparisonTable, resultsOf } from './report.ts'
import { draw } from './svg.ts'

const cleanup = createCleanup()
try {
  await run(parseOptions(process.argv.slice(2)), cleanup)
} catch (error) {
  if (!cleanup.interrupted)
    console.error(error instanceof OperatorError || error instanceof WrongResponse ? error.message : error)
  process.exitCode = 1
} finally {
  await cleanup.run()
}

async function run(options: Options, cleanup: Cleanup): Promise<void> {
  const cores = coresFor()
  if (cores) execFileSync('taskset', ['-a', '-p', '-c', cores.others, String(process.pid)]) // and the load after it
  const postgres = await startPostgres(cleanup)
  const { name, run: load } = findLoader(postgres.dir)
  const conditions = { ...options, load, postgresPid: postgres.pid }
  const about = {
    node: process.version,
    processor: `${cpus().length} × ${cpus()[0]?.model ?? '?'}`,
    cores: cores ? `server on core ${cores.server}, load and PostgreSQL on ${cores.others}` : 'not divided',
    load: `${name}, ${options.connections} connections`,
    rounds: `rounds: ${options.rounds}, of ${options.seconds} s each, after ${options.warmup} s of warming up`,
    rows: `${options.rows} animals`,
  }
  console.log(Object.values(about).join('\n'))
  if (!bun) console.log('Bun is left out: npm brings none for this platform.')
  if (!node22) console.log('PostGraphile is left out: it needs Node 22, and npm brings none for this platform.')

  if (options.command === 'growth') {
    const results = await growth(options, postgres, conditions, cleanup)
    return report(options, { about, results }, growthTable(results))
  }
  if (options.command === 'overload') {
    const results = await overload(options, load, postgres, cleanup)
    if (results.some(({ wrong, livezMs }) => wrong || livezMs === undefined)) process.exitCode = 1
    return report(options, { about, results }, outcomeTable(results))
  }
  const results = resultsOf(await compare(options, postgres, conditions, cleanup))
  report(options, { about, results }, comparisonTable(results))
  if (options.svg) writeFileSync(join(bench, 'result.svg'), draw(results, about))
}

function report({ command }: Options, result: object, text: string): void {
  mkdirSync(join(bench, 'results'), { recursive: true })
  writeFileSync(join(bench, 'results', `${command}.json`), JSON.stringify(result, undefined, 2))
  console.log(`\n${text}\n\nAll figures: test/bench/results/${command}.json`)
}
