import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect } from 'vitest'
import { makeManifest, readManifest, type TrustedDocuments } from '../../src/graphql/trusted-documents.ts'
import { schema } from '../../src/graphql/schema/index.ts'
import { type TestService, testWithService as test } from '../support/harness.ts'

const folder = new URL('./operations/', import.meta.url)
const sources = readdirSync(folder).map((file) => readFileSync(new URL(file, folder), 'utf8'))
const made = makeManifest(schema, sources)
const manifest = 'manifest' in made ? made.manifest : {}
const idOf = (name: string) => Object.keys(manifest).find((hash) => manifest[hash]?.includes(` ${name}(`)) ?? ''
const trusted = (mode: TrustedDocuments['mode']) => ({ trusted: { mode, byHash: new Map(Object.entries(manifest)) } })

async function ask(service: TestService, body: object) {
  const init = { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) }
  const response = await service.send('/graphql', init)
  return { status: response.status, body: await response.json() }
}

describe('the manifest', () => {
  test('has every operation with just the fragments that it needs', () => {
    expect(Object.keys(manifest)).toHaveLength(3)
    expect(manifest[idOf('Animal')]).toContain('fragment Card')
    expect(manifest[idOf('Add')]).not.toContain('fragment Card')
  })

  test('is not made of documents that the schema does not allow', () => {
    expect(makeManifest(schema, ['query A { pett { id } }'])).toMatchObject({ errors: [{}] })
  })

  test('with a document that is not the one of its hash is refused', async () => {
    const file = new URL('../../package.json', import.meta.url).pathname
    await expect(readManifest(file)).rejects.toThrow(/^TRUSTED_DOCUMENTS_FILE .*package\.json: is not an object/)
  })
})

describe('a trusted document', () => {
  const variables = { first: 2 }

  test.for(['allow', 'only'] as const)(
    'is run by its id in mode %s, however the client sends it',
    async (mode, { service }) => {
      const peer = await service.startPeer(trusted(mode))
      const id = idOf('Pets')
      const data = { pets: { nodes: [], pageInfo: { hasNextPage: false, endCursor: null } } }
      const ways = [
        { documentId: id },
        { documentId: `sha256:${id}` },
        { extensions: { persistedQuery: { version: 1, sha256Hash: id } } },
      ]
      for (const way of ways) expect(await ask(peer, { ...way, variables })).toEqual({ status: 200, body: { data } })
      const query = new URLSearchParams({ documentId: id, variables: JSON.stringify(variables) })
      expect(await (await peer.send(`/graphql?${query}`)).json()).toEqual({ data })
    },
  )

  test('that is unknown is refused, in every mode', async ({ service }) => {
    for (const mode of ['off', 'allow', 'only'] as const) {
      const peer = await service.startPeer(trusted(mode))
      const { status, body } = await ask(peer, { documentId: 'f'.repeat(64) })
      expect([status, body.errors[0].extensions.code]).toEqual([400, 'INVALID_ARGUMENT'])
    }
  })

  test('may be sent beside its hash: in mode allow it is run, trusted or not, unless the hash is of another', async ({
    service,
  }) => {
    const [allow, only] = [await service.startPeer(trusted('allow')), await service.startPeer(trusted('only'))]
    const query = '{ __typename }'
    const persisted = (sha256Hash: string) => ({ query, extensions: { persistedQuery: { version: 1, sha256Hash } } })
    const hash = createHash('sha256').update(query).digest('hex')
    expect(await ask(allow, persisted(hash))).toEqual({ status: 200, body: { data: { __typename: 'Query' } } })
    const mistaken = await ask(allow, persisted(idOf('Pets')))
    expect([mistaken.status, mistaken.body.errors[0].message]).toEqual([400, 'documentId: is not the SHA-256 of query'])
    expect((await ask(only, persisted(hash))).status).toBe(400)
  })

  test('is all that is run in mode only; in mode allow any document is', async ({ service }) => {
    const query = '{ __typename }'
    const [allow, only] = [await service.startPeer(trusted('allow')), await service.startPeer(trusted('only'))]
    expect((await ask(allow, { query })).body).toEqual({ data: { __typename: 'Query' } })
    const refused = await ask(only, { query })
    expect([refused.status, refused.body.errors[0].message]).toEqual([
      400,
      'Only trusted documents are accepted: send a documentId.',
    ])
  })
})
