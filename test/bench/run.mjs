// npm run bench: checks the arguments, then builds, installs the peers and measures.
import { bundle } from '../../src/build/bundle.mjs'
import { runNode, runNpm } from '../support/run.mjs'

await bundle({ arguments: 'test/bench/arguments.ts' }, 'test/bench/dist')
const args = process.argv.slice(2)
const { checkArguments } = await import('./dist/arguments.js')
const code = checkArguments(args)
if (code !== undefined) process.exit(code)

runNode('src/build/build.mjs')
runNpm('ci', '--prefix', 'test/bench', '--no-audit', '--no-fund', '--loglevel', 'error')
runNode('node_modules/typescript-compiler/bin/tsc', '-p', 'test/bench')
runNode('test/bench/dist/test/bench/main.js', ...args)
