import { execFile } from 'node:child_process'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const cwd = fileURLToPath(new URL('.', import.meta.url))
const run = (...args: string[]) => promisify(execFile)(process.execPath, args, { cwd })

/** Runs the code generators. The test run fails if one rejects the schema or an operation. */
export default async function generate(): Promise<void> {
  await rm(`${cwd}generated`, { recursive: true, force: true })
  // relay-compiler updates this folder and this file, and requires that they exist.
  await mkdir(`${cwd}generated/relay`, { recursive: true })
  await writeFile(`${cwd}generated/relay.json`, '{}')
  await run('node_modules/relay-compiler/cli.js', '--noWatchman', 'relay.config.json')
  await run('node_modules/@graphql-codegen/cli/cjs/bin.js', '--config', 'codegen.ts')
}
