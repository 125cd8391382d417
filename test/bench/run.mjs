// npm run bench: checks the arguments, then builds, installs the peers and measures.
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { bundle } from '../../src/build/bundle.mjs'
import { read, replace, root } from '../../src/build/files.mjs'
import { runNode, runNpm } from '../support/run.mjs'

await bundle({ arguments: 'test/bench/arguments.ts' }, 'test/bench/dist')
const args = process.argv.slice(2)
const { checkArguments } = await import('./dist/arguments.js')
const code = checkArguments(args)
if (code !== undefined) process.exit(code)

runNode('src/build/build.mjs')
// What an earlier run has installed has a second GraphQL.js, which rejects the schema of the service.
rmSync(join(root, 'test/bench/node_modules'), { recursive: true, force: true })
// Not compiled with the other peers, whose plugin for Pothos changes the type of every schema.
await bundle(
  {
    'test/service-yoga': 'test/bench/service/yoga.ts',
    'test/without-executor': 'test/bench/service/without-executor.ts',
    'test/query-raw': 'test/bench/service/query-raw.ts',
  },
  'dist',
)
runNpm('ci', '--prefix', 'test/bench', '--no-audit', '--no-fund', '--loglevel', 'error')
generatePothosTypes()
runNode('node_modules/typescript-compiler/bin/tsc', '-p', 'test/bench')
runNode('test/bench/dist/test/bench/main.js', ...args)

/** The types of Pothos's Prisma plugin for the peer `yoga`, from the service's model. */
function generatePothosTypes() {
  const generator = `generator pothos {
    provider     = "node test/bench/node_modules/@pothos/plugin-prisma/bin/generator.js"
    output       = "../generated/pothos.ts"
    clientOutput = "../../../src/database/generated/client.ts"
  }`
  replace(
    'test/bench/dist/schema.prisma',
    String(read('prisma/schema.prisma')).replace(/generator client \{.*?\n\}/s, generator),
  )
  const options = ['--config', 'prisma/config.ts', '--schema', 'test/bench/dist/schema.prisma', '--no-hints']
  runNode('node_modules/prisma-cli/build/index.js', 'generate', ...options)
}
