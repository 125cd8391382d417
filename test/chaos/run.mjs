// npm run chaos -- [PART …] [--SIZE N …]   Every part when none is named; sizes are those of the part's file.
import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { runNode } from '../support/run.mjs'

const here = dirname(fileURLToPath(import.meta.url))
const PARTS = [...readFileSync(join(here, 'parts.run.ts'), 'utf8').matchAll(/^register\('([\w-]+)'/gm)].map(
  ([, name]) => name,
)
const SIZES = [...new Set(readdirSync(here).flatMap(sizesOf))].sort()
const USAGE = `Usage: npm run chaos -- [PART …] [--SIZE N …]
  Runs the parts, or all of them, and prints a table of measurements with the bound that is promised.
  PART: ${PARTS.join(', ')}
  SIZE: ${SIZES.join(', ')}`

const args = process.argv.slice(2)
if (args.includes('--help')) {
  console.log(USAGE)
  process.exit(0)
}
const parts = []
const sizes = {}
for (let arg = args.shift(); arg !== undefined; arg = args.shift()) {
  const [, size, inline] = /^--(\w+)(?:=(.*))?$/.exec(arg) ?? []
  if (!size && PARTS.includes(arg)) parts.push(arg)
  else if (!size) fail(`Unknown part: ${arg}.`)
  else if (!SIZES.includes(size)) fail(`Unknown size: --${size}.`)
  else {
    const value = inline ?? args.shift() ?? ''
    if (!/^\d{1,9}$/.test(value)) fail(`--${size} takes a whole number.`)
    sizes[size] = Number(value)
  }
}

/** The names of the sizes in a part's file. */
function sizesOf(file) {
  if (!file.endsWith('.ts')) return []
  const [, members = ''] = /definePart\(\s*\{([^}]*)\}/.exec(readFileSync(join(here, file), 'utf8')) ?? []
  return [...members.matchAll(/(\w+):/g)].map(([, name]) => name)
}

function fail(problem) {
  console.error(`${problem}\n\n${USAGE}`)
  process.exit(1)
}

runNode('src/build/build.mjs', '--tests')
const vitest = join(dirname(createRequire(import.meta.url).resolve('vitest/package.json')), 'vitest.mjs')
const { status } = spawnSync(process.execPath, [vitest, 'run', '--config', join(here, 'vitest.config.ts')], {
  cwd: join(here, '../..'),
  stdio: 'inherit',
  env: { ...process.env, CHAOS_PARTS: parts.join(' '), CHAOS_SIZES: JSON.stringify(sizes) },
})
process.exit(status ?? 1)
