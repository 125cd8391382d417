import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect } from 'vitest'
import { readManifest } from '../../src/graphql/trusted-documents.ts'
import { testWithService as test } from '../support/harness.ts'
import { apollo } from './apollo.ts'
import { AddOnceDocument, type AnimalQuery, type CardFragment, type NewPet } from './generated/codegen/graphql.ts'
import type { PetStatus } from './generated/codegen/graphql.ts'
import { fill } from './fill.ts'
import { urql } from './urql.ts'

/** The operations of each client under test. */
export interface Client {
  /** Reads every page forward, each of `first` animals. */
  walk(first: number, status?: PetStatus): Promise<{ pages: number; names: string[] }>
  add(input: NewPet, idempotencyKey: string): Promise<CardFragment | undefined>
  /** Reads one animal. @returns it, or the codes of the errors */
  animal(id: string): Promise<{ data: AnimalQuery | undefined; codes: unknown[] }>
}

const here = fileURLToPath(new URL('.', import.meta.url))

test('all files compile with the types that graphql-codegen generates', { timeout: 60_000 }, async () => {
  const tsc = fileURLToPath(new URL('../../node_modules/typescript/bin/tsc', import.meta.url))
  const told = promisify(execFile)(process.execPath, [tsc, '--noEmit', '-p', here])
  expect(await told.catch((error: { stdout: string }) => error)).toEqual({ stdout: '', stderr: '' })
})

test("graphql-codegen's persisted documents are a manifest of trusted documents", async ({ service }) => {
  const byHash = await readManifest(`${here}generated/codegen/persisted-documents.json`)
  expect(byHash.size).toBe(5)
  const only = await service.startPeer({ trusted: { mode: 'only', byHash } })
  // The preset adds this member without declaring it in the types.
  const { hash } = (AddOnceDocument as unknown as { __meta__: { hash: string } }).__meta__
  const body = JSON.stringify({
    documentId: hash,
    variables: { input: { name: 'Rex', categoryId: '7' }, idempotencyKey: 'k' },
  })
  const answer = await only.send('/graphql', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body })
  expect(await answer.json()).toEqual({ data: { createPet: { id: '1', name: 'Rex', status: null } } })
})

describe.for([
  ['Apollo Client', apollo],
  ['urql', urql],
] as const)('%s', ([, create]) => {
  test('reads all pages by endCursor: every animal once, newest first', async ({ service }) => {
    const names = await fill(service, 57)
    const client = create(`${service.base}/graphql`, service.key)
    expect(await client.walk(10)).toEqual({ pages: 6, names })
    expect(await client.walk(10, 'sold')).toEqual({ pages: 2, names: names.filter((_, i) => i % 3 === 0) })
  })

  test('creates one animal with two requests of the same key', async ({ service }) => {
    const client = create(`${service.base}/graphql`, service.key)
    const input: NewPet = { name: 'Rex', categoryId: '9223372036854775807', status: 'pending' }
    const added = await client.add(input, 'once')
    expect(added).toMatchObject({ id: '1', name: 'Rex', status: 'pending' })
    expect(await client.add(input, 'once')).toEqual(added)
    expect(await client.walk(10)).toEqual({ pages: 1, names: ['Rex'] })
    expect(await client.animal('1')).toMatchObject({ data: { pet: { categoryId: '9223372036854775807' } }, codes: [] })
  })

  test('receives NOT_FOUND and null for an id that does not exist', async ({ service }) => {
    const client = create(`${service.base}/graphql`, service.key)
    expect(await client.animal('404')).toEqual({ data: { pet: null }, codes: ['NOT_FOUND'] })
  })
})
