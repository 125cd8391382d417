import { createHash } from 'node:crypto'
import { describe, expect } from 'vitest'
import type { TrustedDocuments } from '../../src/graphql/trusted-documents.ts'
import { type TestService, testWithService as test } from '../support/harness.ts'

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')

const PETS = 'query Pets($first: Int!) { pets(first: $first) { nodes { id } pageInfo { hasNextPage endCursor } } }'
const petsId = sha256(PETS)
const trusted = (mode: TrustedDocuments['mode']) => ({ trusted: { mode, byHash: new Map([[petsId, PETS]]) } })

async function send(service: TestService, body: object) {
  const init = { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) }
  const response = await service.send('/graphql', init)
  return { status: response.status, body: await response.json() }
}

describe('a trusted document', () => {
  const variables = { first: 2 }

  test.for(['allow', 'only'] as const)(
    'is executed by its id in mode %s, in each form of the id',
    async (mode, { service }) => {
      const peer = await service.startPeer(trusted(mode))
      const data = { pets: { nodes: [], pageInfo: { hasNextPage: false, endCursor: null } } }
      const forms = [
        { documentId: petsId },
        { documentId: `sha256:${petsId}` },
        { extensions: { persistedQuery: { version: 1, sha256Hash: petsId } } },
      ]
      for (const form of forms)
        expect(await send(peer, { ...form, variables })).toEqual({ status: 200, body: { data } })
      const query = new URLSearchParams({ documentId: petsId, variables: JSON.stringify(variables) })
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
    expect(await send(allow, persisted(sha256(query)))).toEqual({
      status: 200,
      body: { data: { __typename: 'Query' } },
    })
    const mismatched = await send(allow, persisted(petsId))
    expect([mismatched.status, mismatched.body.errors[0].message]).toEqual([
      400,
      'documentId: is not the SHA-256 of query',
    ])
    expect((await send(only, persisted(sha256(query)))).status).toBe(400)
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
