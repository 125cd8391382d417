// Generates the Prisma client, unless it is current. npm runs this after each installation, and each build runs it.
import './node-version.mjs'
import { spawnSync } from 'node:child_process'
import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { read, replace, root } from './files.mjs'

/** A file with the Prisma version and model of the client. Written last, so that an interrupted generation is repeated. */
const STAMP = 'src/database/generated/generated-from'

// The Prisma CLI is installed as `prisma-cli`. As `prisma`, it would be an optional peer dependency of @prisma/client, and
// npm would keep it in production, with its 200 MB of dependencies.
const cli = 'node_modules/prisma-cli'
if (existsSync(join(root, cli))) {
  const { version, bin } = JSON.parse(read(`${cli}/package.json`))
  const stamp = `${version}\n${read('prisma/schema.prisma')}`
  if (read(STAMP)?.toString() !== stamp) {
    rmSync(join(root, STAMP), { force: true })
    const args = [join(cli, bin.prisma), 'generate', '--config', 'prisma/config.ts', '--no-hints']
    const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd: root, encoding: 'utf8' })
    if (status !== 0) {
      process.stderr.write(stdout + stderr) // printed only after a failure
      process.exit(1)
    }
    replace(STAMP, stamp)
  }
}
