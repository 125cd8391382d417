import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { Source } from 'graphql'
import { describe, expect } from 'vitest'
import { createManifest, readManifest, type TrustedDocuments } from '../../src/graphql/trusted-documents.ts'
import { schema } from '../../src/graphql/schema/index.ts'
import { OperatorError } from '../../src/operator-error.ts'
import { type TestService, testWithService as test } from '../support/harness.ts'

const folder = new URL('./operations/', import.meta.url)
const sources = readdirSync(folder).map((file) => new Source(readFileSync(new URL(file, folder), 'utf8'), file))
const manifest = createManifest(schema, sources)
const idOf = (name: string) => Object.keys(manifest).find((hash) => manifest[hash]?.includes(` ${name}(`)) ?? ''
const trusted = (mode: TrustedDocuments['mode']) => ({ trusted: { mode, byHash: new Map(Object.entries(manifest)) } })

async function send(service: TestService, body: object) {
  const init = { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) }
  const response = await service.send('/graphql', init)
  return { status: response.status, body: await response.json() }
}

/** @returns the lines of the error that rejects documents, sorted */
function errorsOf(documents: Record<string, string>): string[] {
  try {
    createManifest(
      schema,
      Object.entries(documents).map(([file, text]) => new Source(text, file)),
    )
  } catch (error) {
    if (error instanceof OperatorError) return error.message.split('\n').sort()
    throw error
  }
  return []
}

describe('the manifest', () => {
  test('contains every operation with only the fragments that it uses', () => {
    expect(Object.keys(manifest)).toHaveLength(3)
    expect(manifest[idOf('Animal')]).toContain('fragment Card')
    expect(manifest[idOf('Add')]).not.toContain('fragment Card')
  })

  test('is not created from documents that are invalid in the schema', () => {
    const documents = {
      'a.graphql': 'query A {\n  pett { id }\n}',
      'b.graphql': '{ pets { nodes { nme } } }\nquery A { __typename }',
    }
    expect(errorsOf(documents)).toEqual([
      'a.graphql:1:7 and b.graphql:2:7: There can be only one operation named "A".',
      'a.graphql:2:3: Cannot query field "pett" on type "Query". Did you mean "pet" or "pets"?',
      'b.graphql:1:18: Cannot query field "nme" on type "Animal". Did you mean "name"?',
    ])
  })

  test('names the position of every syntax error', () => {
    expect(errorsOf({ 'a.graphql': 'query {', 'b.gql': '{ __typename }', 'c.gql': '# nothing\n' })).toEqual([
      'a.graphql:1:8: Syntax Error: Expected Name, found <EOF>.',
      'c.gql:2:1: Syntax Error: Unexpected <EOF>.',
    ])
  })

  test('is rejected if it does not map hashes to documents', async () => {
    const file = new URL('../../package.json', import.meta.url).pathname
    await expect(readManifest(file)).rejects.toThrow(/^TRUSTED_DOCUMENTS_FILE .*package\.json: is not an object/)
  })
})

describe('a trusted document', () => {
  const variables = { first: 2 }

  test.for(['allow', 'only'] as const)(
    'is executed by its id in mode %s, in each form of the id',
    async (mode, { service }) => {
      const peer = await service.startPeer(trusted(mode))
      const id = idOf('Pets')
      const data = { pets: { nodes: [], pageInfo: { hasNextPage: false, endCursor: null } } }
      const forms = [
        { documentId: id },
        { documentId: `sha256:${id}` },
        { extensions: { persistedQuery: { version: 1, sha256Hash: id } } },
      ]
      for (const form of forms)
        expect(await send(peer, { ...form, variables })).toEqual({ status: 200, body: { data } })
      const query = new URLSearchParams({ documentId: id, variables: JSON.stringify(variables) })
      expect(await (await peer.send(`/graphql?${query}`)).json()).toEqual({ data })
    },
  )

  test('with an unknown id is rejected, in every mode', async ({ service }) => {
    for (const mode of ['off', 'allow', 'only'] as const) {
      const peer = await service.startPeer(trusted(mode))
      const { status, body } = await send(peer, { documentId: 'f'.repeat(64) })
      expect([status, body.errors[0].extensions.code]).toEqual([400, 'INVALID_ARGUMENT'])
    }
  })

  test('can be sent with its hash: mode allow executes any document whose hash matches', async ({ service }) => {
    const [allow, only] = [await service.startPeer(trusted('allow')), await service.startPeer(trusted('only'))]
    const query = '{ __typename }'
    const persisted = (sha256Hash: string) => ({ query, extensions: { persistedQuery: { version: 1, sha256Hash } } })
    const hash = createHash('sha256').update(query).digest('hex')
    expect(await send(allow, persisted(hash))).toEqual({ status: 200, body: { data: { __typename: 'Query' } } })
    const mismatched = await send(allow, persisted(idOf('Pets')))
    expect([mismatched.status, mismatched.body.errors[0].message]).toEqual([
      400,
      'documentId: is not the SHA-256 of query',
    ])
    expect((await send(only, persisted(hash))).status).toBe(400)
  })

  test('is the only kind of document in mode only; mode allow executes any document', async ({ service }) => {
    const query = '{ __typename }'
    const [allow, only] = [await service.startPeer(trusted('allow')), await service.startPeer(trusted('only'))]
    expect((await send(allow, { query })).body).toEqual({ data: { __typename: 'Query' } })
    const rejected = await send(only, { query })
    expect([rejected.status, rejected.body.errors[0].message]).toEqual([
      400,
      'Only trusted documents are accepted: send a documentId.',
    ])
  })
})
