// Generates the Prisma client, unless it is current. npm runs this after each installation, and the build does.
import './node-version.mjs'
import { spawnSync } from 'node:child_process'
import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { read, replace, root } from './files.mjs'

/** The version of Prisma and the model from which the client was generated. Written last, in case of an interruption. */
const STAMP = 'src/database/generated/generated-from'

// The Prisma CLI is installed as `prisma-cli`: `prisma` is an optional peer dependency of @prisma/client, which npm would
// keep in production, with its 200 MB of dependencies.
const cli = 'node_modules/prisma-cli'
if (existsSync(join(root, cli))) {
  const { version, bin } = JSON.parse(read(`${cli}/package.json`))
  const stamp = `${version}\n${read('prisma/schema.prisma')}`
  if (read(STAMP)?.toString() !== stamp) {
    rmSync(join(root, STAMP), { force: true })
    generate(join(cli, bin.prisma))
    replace(STAMP, stamp)
  }
}

/** Prints the output of Prisma only if it fails. */
function generate(prisma) {
  const args = [prisma, 'generate', '--config', 'prisma/config.ts', '--no-hints']
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd: root, encoding: 'utf8' })
  if (status === 0) return
  process.stderr.write(stdout + stderr)
  process.exit(1)
}
