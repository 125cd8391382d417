// Generates the Prisma client, builds the pages and bundles the programs to dist/. Files of an earlier build stay in dist/,
// because a running service may still load them.
//   --watch  bundles again and restarts the service whenever a TypeScript file changes
//   --tests  bundles also the service for tests, which change its limits
//   --check  builds nothing; fails if dist/ does not exist
import './node-version.mjs'
import { existsSync } from 'node:fs'
import { join, relative } from 'node:path'
import { root } from './files.mjs'

// Explains in one line that files belong to another user, such as those of a build by root.
process.on('uncaughtException', (error) => {
  if (!error.path || !['EACCES', 'EPERM', 'EROFS'].includes(error.code)) throw error
  const advice = 'build as the owner of dist/, or delete dist/ and build again'
  console.error(`The build cannot use ${relative(root, error.path)} (${error.code}): ${advice}.`)
  process.exit(1)
})

const programs = { main: 'src/main.ts', 'cli/keys': 'src/cli/keys.ts', 'cli/migrate': 'src/cli/migrate.ts' }
if (process.argv.includes('--tests')) programs['test/service'] = 'test/support/service.ts'
const canBuild = existsSync(join(root, 'node_modules/rolldown')) // a production installation has no tools

if (process.argv.includes('--check') || !canBuild) {
  if (existsSync(join(root, 'dist/main.js'))) process.exit(0)
  console.error('dist/ does not exist: npm ci && npm run build')
  process.exit(1)
}
await import('./client.mjs')
await import('./pages.mjs')
const { bundle, bundleAndRun } = await import('./bundle.mjs')
if (process.argv.includes('--watch')) await bundleAndRun(programs, 'dist', 'dist/main.js')
else await bundle(programs, 'dist')
