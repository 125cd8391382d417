import { execFile } from 'node:child_process'
import { cp, mkdir, rm, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import openapiTypescript, { astToString } from 'openapi-typescript'
import { expect } from 'vitest'
import { testWithService as test } from '../support/harness.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
// Inside the project, so that the client can resolve openapi-fetch.
const folder = `${root}dist/typed-client`

test('a client with the types generated from /openapi.json compiles, and can call every operation', async ({
  service,
}) => {
  await rm(folder, { recursive: true, force: true })
  await mkdir(folder, { recursive: true })
  const types = await openapiTypescript(new URL(`${service.base}/openapi.json`))
  await writeFile(`${folder}/openapi.d.ts`, astToString(types))
  await cp(`${root}test/rest/typed-client/client.ts`, `${folder}/client.ts`)
  const options = [
    '--strict',
    '--target',
    'es2022',
    '--module',
    'nodenext',
    '--rewriteRelativeImportExtensions',
    '--skipLibCheck',
  ]
  await promisify(execFile)(process.execPath, [
    `${root}node_modules/typescript/bin/tsc`,
    ...options,
    `${folder}/client.ts`,
  ])

  // Compiled at run time, so its type is unknown here.
  const client = (await import(/* @vite-ignore */ `${folder}/client.js`)) as {
    everyOperation(baseUrl: string, key: string): Promise<unknown>
  }
  expect(await client.everyOperation(`${service.base}/v1`, service.key)).toEqual({
    id: 1,
    names: ['Rex'],
    status: 'available',
    code: 'NOT_FOUND',
  })
})
