import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { RESOURCES } from '../../src/resources.ts'
import { openapi } from '../../src/rest/openapi/document.ts'

const cwd = fileURLToPath(new URL('.', import.meta.url))
const run = (...args: string[]) => promisify(execFile)(process.execPath, args, { cwd })

/** The arguments with which docs/clients.md runs a command. */
async function documented(command: string): Promise<string[]> {
  const page = await readFile(new URL('../../docs/clients.md', import.meta.url), 'utf8')
  const [, text] = new RegExp(`^${command} (.+)$`, 'm').exec(page) ?? []
  if (!text) throw new Error(`docs/clients.md does not run ${command}`)
  return text.split(' ')
}

/** Runs the code generators. The test run fails if one rejects the schema, an operation or the OpenAPI document. */
export default async function generate(): Promise<void> {
  await rm(`${cwd}generated`, { recursive: true, force: true })
  // relay-compiler updates this folder and this file, and requires that they exist.
  await mkdir(`${cwd}generated/relay`, { recursive: true })
  await writeFile(`${cwd}generated/relay.json`, '{}')
  await run('node_modules/relay-compiler/cli.js', '--noWatchman', 'relay.config.json')
  await run('node_modules/@graphql-codegen/cli/cjs/bin.js', '--config', 'codegen.ts')
  await saveOpenapi()
  await run('node_modules/openapi-typescript/bin/cli.js', ...(await documented('npx openapi-typescript')))
  const heyApi = await documented('npx openapi-ts')
  await run('node_modules/@hey-api/openapi-ts/bin/run.js', ...heyApi, '--silent', '--no-log-file')
}

/** The services of the tests are not running yet. A test compares the document with theirs. */
async function saveOpenapi(): Promise<void> {
  const document = JSON.stringify(
    openapi(
      RESOURCES.map(({ rest }) => rest),
      {},
    ),
  )
  const server = createServer((_req, res) => void res.end(document)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo // of a TCP server
  const [program = '', , file = ''] = await documented('node')
  await run(program, `http://127.0.0.1:${port}/openapi.json`, file)
  server.close()
}
