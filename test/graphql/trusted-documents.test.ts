import { createHash } from 'node:crypto'
import { describe, expect } from 'vitest'
import type { TrustedDocuments } from '../../src/graphql/context.ts'
import { readManifest } from '../../src/graphql/plugins/trusted-documents.ts'
import { temporaryFile } from '../support/files.ts'
import { type TestService, testWithSharedService } from '../support/harness.ts'

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')

const PETS = 'query Pets($first: Int!) { pets(first: $first) { nodes { id } pageInfo { hasNextPage endCursor } } }'
const petsId = sha256(PETS)
const trusted = (mode: TrustedDocuments['mode']) => ({ trusted: { mode, byHash: new Map([[petsId, PETS]]) } })

/** `peers` are a service in each mode, which the tests of the file share. */
const test = testWithSharedService.extend<{ peers: Record<TrustedDocuments['mode'] | 'off', TestService> }>({
  peers: [
    async ({ service }, use) => {
      const [allow, only] = [await service.startPeer(trusted('allow')), await service.startPeer(trusted('only'))]
      await use({ off: service, allow, only })
    },
    { scope: 'file' },
  ],
})

async function send({ postGraphQL }: TestService, body: object) {
  const response = await postGraphQL(body)
  return { status: response.status, body: await response.json() }
}

describe('trusted documents', () => {
  const variables = { first: 2 }

  test.for(['allow', 'only'] as const)(
    'are executed by their id in mode %s, in each form of the id',
    async (mode, { peers: { [mode]: peer } }) => {
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

  const query = '{ __typename }'
  const withHash = (sha256Hash: string) => ({ query, extensions: { persistedQuery: { version: 1, sha256Hash } } })
  const [notText, notPersisted] = [
    { query, documentId: 5 },
    { query, extensions: { persistedQuery: 'x' } },
  ]
  const unknown = { documentId: 'f'.repeat(64) }
  const executed = { data: { __typename: 'Query' } }
  const refused = (message: string) => ({ errors: [{ message }] })
  const invalid = { errors: [{ extensions: { code: 'INVALID_ARGUMENT' } }] }
  test.for([
    ['off', 'rejects an unknown id', unknown, invalid],
    ['allow', 'rejects an unknown id', unknown, invalid],
    ['only', 'rejects an unknown id', unknown, invalid],
    ['off', 'ignores an id that is not text', notText, executed],
    ['off', 'ignores a hash that is not text', notPersisted, executed],
    ['only', 'rejects an id that is not text', notText, { errors: [{}] }],
    ['only', 'rejects a hash that is not text', notPersisted, { errors: [{}] }],
    ['allow', 'executes any document', { query }, executed],
    ['allow', 'executes any document whose hash matches', withHash(sha256(query)), executed],
    ['allow', 'rejects another hash', withHash(petsId), refused('documentId: is not the SHA-256 of query')],
    ['only', 'rejects others', { query }, refused('Only trusted documents are accepted: send a documentId.')],
    ['only', 'rejects others with their hash', withHash(sha256(query)), { errors: [{}] }],
  ] as const)('mode %s %s', async ([mode, , request, body], { peers }) => {
    expect(await send(peers[mode], request)).toMatchObject({ status: 'errors' in body ? 422 : 200, body })
  })
})

test.for([
  ['{\n"a": }\n', 'is not a JSON object from SHA-256 to document'],
  ['["x"]', 'is not a JSON object from SHA-256 to document'],
  [`{"${'0'.repeat(64)}": "x"}`, `${'0'.repeat(64)} is not the SHA-256 of its document`],
] as const)('a manifest that cannot be used is described in one line: %j', async ([text, problem]) => {
  const file = temporaryFile(text)
  await expect(readManifest(file)).rejects.toThrow(new Error(`TRUSTED_DOCUMENTS_FILE ${file}: ${problem}`))
})
