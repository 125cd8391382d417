import { execFile } from 'node:child_process'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const cwd = fileURLToPath(new URL('.', import.meta.url))
const run = (...args: string[]) => promisify(execFile)(process.execPath, args, { cwd })

/** Runs the generators as a team would. One that refuses the schema or an operation ends the test run. */
export default async function generate(): Promise<void> {
  await rm(`${cwd}generated`, { recursive: true, force: true })
  // relay-compiler adds to its files and wants them there.
  await mkdir(`${cwd}generated/relay`, { recursive: true })
  await writeFile(`${cwd}generated/relay.json`, '{}')
  await run('node_modules/relay-compiler/cli.js', '--noWatchman', 'relay.config.json')
  await run('node_modules/@graphql-codegen/cli/cjs/bin.js', '--config', 'codegen.ts')
}
