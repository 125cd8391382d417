// Generates the Prisma client from prisma/schema.prisma, bundles src/ to dist/ and builds the pages; skips what is fresh.
// Runs after npm ci and before each program. A deployment has none of the tools and keeps its dist/.
//   --client  only the client      --watch  bundle and restart the service on every change
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join, relative } from 'node:path'
import { list, read, root, runStep } from './build-step.mjs'

const require = createRequire(import.meta.url)

process.on('uncaughtException', explainAccess)

/** One line for files of another user: after a build by root, no other user can replace dist/. Rethrows any other error. */
function explainAccess(error) {
  if (!error.path || !['EACCES', 'EPERM', 'EROFS'].includes(error.code)) throw error
  const path = relative(root, error.path)
  console.error(
    `The build cannot use ${path} (${error.code}): build as the owner of dist/, or delete dist/ and build again.`,
  )
  process.exit(1)
}

/** @returns the file of a package's command; undefined if the package is not installed */
function command(name, packageName = name) {
  try {
    const file = require.resolve(`${packageName}/package.json`)
    const { bin } = require(file)
    return join(dirname(file), typeof bin === 'string' ? bin : bin[name])
  } catch {
    return undefined
  }
}

/** Runs a Node program in the project; prints its output only if it fails. */
function run(file, ...args) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [file, ...args], { cwd: root, encoding: 'utf8' })
  if (status === 0) return
  process.stderr.write(stdout + stderr)
  process.exit(1)
}

// The Prisma CLI is installed as `prisma-cli`: `prisma` is an optional peer dependency of @prisma/client, which npm would
// keep in production, with its 200 MB of dependencies.
const prisma = command('prisma', 'prisma-cli')
if (!prisma) {
  if (existsSync(join(root, 'dist/main.js'))) process.exit(0)
  console.error('dist/ does not exist, and the tools to build it are not installed: npm ci && npm run build')
  process.exit(process.env.npm_lifecycle_event === 'postinstall' ? 0 : 1)
}

const client = 'src/database/generated'
await runStep({
  stamp: 'dist/.client.json',
  inputs: () => ['prisma/schema.prisma', 'prisma/config.ts'],
  run() {
    run(prisma, 'generate', '--config', 'prisma/config.ts', '--no-hints')
    return new Map(list(client, /\.ts$/).map((path) => [path, read(path)]))
  },
})
if (process.argv.includes('--client')) process.exit(0)

await import('./build-pages.mjs')
const { bundle, bundleAndRun } = await import('./build-bundle.mjs')
const programs = ['main', 'cli/keys', 'cli/migrate']
const service = {
  programs: Object.fromEntries(programs.map((program) => [program, `src/${program}.ts`])),
  dir: 'dist',
  sources: () => list('src', /\.ts$/),
}
if (process.argv.includes('--watch')) await bundleAndRun(service, 'dist/main.js')
else await bundle(service)
