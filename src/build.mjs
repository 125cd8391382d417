// Generates the Prisma client from prisma/schema.prisma, then compiles src/ to dist/. Runs after npm ci and before each
// start. A production install (npm ci --omit=dev) has neither tool and keeps the dist/ that it was deployed with.
//   --client  only the client      --watch  compile and restart the service on every change
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, statSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const require = createRequire(import.meta.url)

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
const tsc = command('tsc', 'typescript')
if (!prisma || !tsc) {
  if (existsSync(join(root, 'dist/main.js'))) process.exit(0)
  console.error('dist/ does not exist, and the tools to build it are not installed: npm ci && npm run build')
  process.exit(process.env.npm_lifecycle_event === 'postinstall' ? 0 : 1)
}

const model = join(root, 'prisma/schema.prisma')
const client = join(root, 'src/database/generated/client.ts')
if (!existsSync(client) || statSync(client).mtimeMs < statSync(model).mtimeMs) {
  run(prisma, 'generate', '--config', 'prisma/config.ts', '--no-hints')
}
if (process.argv.includes('--client')) process.exit(0)

run(tsc, '--project', 'src')
run(fileURLToPath(new URL('build-pages.mjs', import.meta.url)))
if (process.argv.includes('--watch')) {
  const options = { cwd: root, stdio: 'inherit' }
  const compiler = spawn(process.execPath, [tsc, '--project', 'src', '--watch', '--preserveWatchOutput'], options)
  const service = spawn(process.execPath, ['--watch', '--enable-source-maps', 'dist/main.js'], options)
  service.on('exit', () => compiler.kill())
  process.on('SIGINT', () => {}) // the terminal signals both children, too
}
