import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect } from 'vitest'
import { readManifest } from '../../src/graphql/plugins/trusted-documents.ts'
import { testWithService as test } from '../support/harness.ts'
import { AddPetDocument } from './generated/codegen/graphql.ts'

const here = fileURLToPath(new URL('.', import.meta.url))

test.for([
  [
    'the examples compile with the configuration of the page, and its TypeScript',
    'tsconfig.examples.json',
    'node_modules/typescript',
  ],
  ['all files compile with the generated types', 'tsconfig.json', '../../node_modules/typescript-compiler'],
] as const)('%s', async ([, project, compiler]) => {
  const tsc = fileURLToPath(new URL(`${compiler}/bin/tsc`, import.meta.url))
  const output = promisify(execFile)(process.execPath, [tsc, '--noEmit', '-p', here + project])
  expect(await output.catch((error: { stdout: string }) => error)).toEqual({ stdout: '', stderr: '' })
})

test("graphql-codegen's persisted documents are a manifest of trusted documents", async ({ service }) => {
  const byHash = await readManifest(`${here}generated/codegen/persisted-documents.json`)
  expect(byHash.size).toBe(5)
  const only = await service.startPeer({ trusted: { mode: 'only', byHash } })
  // The preset adds this member without declaring it in the types.
  const { hash } = (AddPetDocument as unknown as { __meta__: { hash: string } }).__meta__
  const body = JSON.stringify({
    documentId: hash,
    variables: { input: { name: 'Rex', categoryId: '7' }, idempotencyKey: 'k' },
  })
  const answer = await only.send('/graphql', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body })
  expect(await answer.json()).toEqual({ data: { createPet: { id: '1', name: 'Rex', categoryId: '7', status: null } } })
})
