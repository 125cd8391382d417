// npm run chaos -- [PART …] [--SIZE N …]   Every part when none is named; sizes are those of the part's file.
import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const here = dirname(fileURLToPath(import.meta.url))
const args = process.argv.slice(2)
const parts = []
const sizes = {}
for (let arg = args.shift(); arg !== undefined; arg = args.shift()) {
  const size = /^--([a-zA-Z]+)$/.exec(arg)?.[1]
  const value = size && args.shift()
  if (size && /^\d+$/.test(value ?? '')) sizes[size] = Number(value)
  else if (!size && readdirSync(here).includes(`${arg}.ts`)) parts.push(arg)
  else {
    console.error(`Usage: npm run chaos -- [PART …] [--SIZE N …]; not understood: ${arg}`)
    process.exit(1)
  }
}
const vitest = join(dirname(createRequire(import.meta.url).resolve('vitest/package.json')), 'vitest.mjs')
const { status } = spawnSync(process.execPath, [vitest, 'run', '--config', join(here, 'vitest.config.ts')], {
  cwd: join(here, '../..'),
  stdio: 'inherit',
  env: { ...process.env, CHAOS_PARTS: parts.join(' '), CHAOS_SIZES: JSON.stringify(sizes) },
})
process.exit(status ?? 1)
