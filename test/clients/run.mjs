// npm run clients: installs the clients and runs every example against the service.
import { runNode, runNpm } from '../support/run.mjs'

const USAGE = `Usage: npm run clients
  Installs the clients of test/clients/ and of docs/shop/, and runs the shop and every example against the service.
  It takes no arguments.`

const args = process.argv.slice(2)
if (args.includes('--help')) {
  console.log(USAGE)
  process.exit(0)
}
if (args.length) {
  console.error(`npm run clients takes no arguments.\n\n${USAGE}`)
  process.exit(1)
}
runNode('src/build/build.mjs')
runNpm('ci', '--prefix', 'test/clients', '--no-audit', '--no-fund')
runNpm('ci', '--prefix', 'docs/shop', '--no-audit', '--no-fund')
runNode('node_modules/vitest/vitest.mjs', 'run', '--config', 'test/clients/vitest.config.ts')
