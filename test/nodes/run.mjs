// npm run nodes -- [LINE …] [FILE …]   The tests on each Node line of package.json, or on those named: nodes -- 26.
// Files, and options of Vitest, are passed on to it.
import { spawnSync } from 'node:child_process'
import { createRequire } from 'node:module'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const here = dirname(fileURLToPath(import.meta.url))
const root = join(here, '../..')
const require = createRequire(import.meta.url)
const lines = Object.keys(require('./package.json').dependencies).map((name) => name.replace('node', ''))

/** Deprecation warnings are errors, in programs that tests start, too. */
const NODE_OPTIONS = `--pending-deprecation --require ${JSON.stringify(join(here, 'deprecations.cjs'))}`

if (`${process.platform}-${process.arch}` !== 'linux-x64') {
  console.error('npm run nodes runs on linux-x64 only: test/nodes/package.json names the binaries of that platform.')
  process.exit(1)
}
const isLine = (arg) => /^\d+$/.test(arg)
const named = process.argv.slice(2).filter(isLine)
const passedOn = process.argv.slice(2).filter((arg) => !isLine(arg))
const unknown = named.filter((line) => !lines.includes(line))
if (unknown.length) {
  console.error(`Usage: npm run nodes -- [LINE …] [FILE …]; lines are ${lines.join(', ')}, not ${unknown.join(', ')}`)
  process.exit(1)
}

const install = ['ci', '--prefix', here, '--no-audit', '--no-fund', '--loglevel', 'error']
if (spawnSync('npm', install, { stdio: 'inherit' }).status !== 0) process.exit(1)

/** Runs the tests on a line. @returns its line of the summary, and whether they passed */
function test(line) {
  const node = join(here, 'node_modules', `node${line}`, 'bin/node')
  const vitest = join(dirname(require.resolve('vitest/package.json')), 'vitest.mjs')
  const { version } = require(`node${line}/package.json`)
  console.log(`\nNode ${version}`)
  const start = performance.now()
  const { status, signal } = spawnSync(node, [vitest, 'run', '--config', 'test/vitest.config.ts', ...passedOn], {
    cwd: root,
    stdio: 'inherit',
    env: { ...process.env, NODE_OPTIONS, PATH: dirname(node) + delimiter + process.env.PATH },
  })
  const seconds = Math.round((performance.now() - start) / 1000)
  const outcome = signal ? `killed by ${signal}` : status === 0 ? 'passed' : 'failed'
  return { passed: status === 0, summary: `Node ${version}: ${outcome} (${seconds} s)` }
}

const results = (named.length ? named : lines).map(test)
console.log(`\n${results.map(({ summary }) => summary).join('\n')}`)
process.exit(results.every(({ passed }) => passed) ? 0 : 1)
