// npm run bench: checks the arguments, then builds, installs the peers and measures.
import { compile, list, runNode, runNpm } from '../../src/build-step.mjs'

compile({
  project: 'test/bench/arguments.tsconfig.json',
  stamp: 'test/bench/dist/.arguments.json',
  inputs: () => ['test/bench', 'src/cli', 'src'].flatMap((path) => list(path, /^[^/]+\.ts$/)),
})
const args = process.argv.slice(2)
const { checkArguments } = await import('./dist/test/bench/arguments.js')
const code = checkArguments(args)
if (code !== undefined) process.exit(code)

runNode('src/build.mjs')
runNpm('ci', '--prefix', 'test/bench', '--no-audit', '--no-fund', '--loglevel', 'error')
runNode('node_modules/typescript/bin/tsc', '-p', 'test/bench')
runNode('test/bench/dist/test/bench/main.js', ...args)
