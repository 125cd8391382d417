// Makes what is generated: the Prisma client from prisma/schema.prisma, then dist/ from src/. Runs at install and
// before each start. A production install (npm ci --omit=dev) has neither tool and keeps the dist/ it was given.
//   --client  only the client      --watch  keep compiling, and run the service from dist/ as it changes
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, statSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const require = createRequire(import.meta.url)

/** The file of a package's command, or undefined when the package is not installed. */
function command(name, packageName = name) {
  try {
    const file = require.resolve(`${packageName}/package.json`)
    const { bin } = require(file)
    return join(dirname(file), typeof bin === 'string' ? bin : bin[name])
  } catch {
    return undefined
  }
}

/** Runs a Node program here; says what it said only when it fails. */
function run(file, ...args) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [file, ...args], { cwd: root, encoding: 'utf8' })
  if (status === 0) return
  process.stderr.write(stdout + stderr)
  process.exit(1)
}

// The CLI is installed under this name because @prisma/client asks for an optional `prisma`, which npm would then keep
// in production, with the 200 MB that it brings.
const prisma = command('prisma', 'prisma-cli')
const tsc = command('tsc', 'typescript')
if (!prisma || !tsc) {
  if (existsSync(join(root, 'dist/main.js'))) process.exit(0)
  console.error('There is no dist/ yet, and the tools to make it are not installed: npm ci && npm run build')
  process.exit(process.env.npm_lifecycle_event === 'postinstall' ? 0 : 1)
}

const model = join(root, 'prisma/schema.prisma')
const client = join(root, 'src/database/generated/client.ts')
if (!existsSync(client) || statSync(client).mtimeMs < statSync(model).mtimeMs) {
  run(prisma, 'generate', '--config', 'prisma/config.ts', '--no-hints')
}
if (process.argv.includes('--client')) process.exit(0)

run(tsc, '--project', 'src')
if (process.argv.includes('--watch')) {
  const options = { cwd: root, stdio: 'inherit' }
  const compiler = spawn(process.execPath, [tsc, '--project', 'src', '--watch', '--preserveWatchOutput'], options)
  const service = spawn(process.execPath, ['--watch', '--enable-source-maps', 'dist/main.js'], options)
  service.on('exit', () => compiler.kill())
  process.on('SIGINT', () => {}) // both children get it from the terminal too
}
