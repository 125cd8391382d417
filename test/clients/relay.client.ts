import { fileURLToPath } from 'node:url'
import {
  createOperationDescriptor,
  Environment,
  fetchQuery,
  getSingularSelector,
  Network,
  RecordSource,
  Store,
} from 'relay-runtime'
import { expect } from 'vitest'
import { readManifest } from '../../src/graphql/trusted-documents.ts'
import { testWithService as test } from '../support/harness.ts'
import { fill } from './fill.ts'
import page, { type StorePageQuery } from './generated/relay/StorePageQuery.graphql.ts'
import query, { type StoreQuery, type StoreQuery$data } from './generated/relay/StoreQuery.graphql.ts'
import fragment, { type Store_pets$data } from './generated/relay/Store_pets.graphql.ts'

const file = fileURLToPath(new URL('generated/relay.json', import.meta.url))

test('Relay reads all pages of a @connection with persisted document hashes only', async ({ service }) => {
  const names = await fill(service, 57)
  const only = await service.startPeer({ trusted: { mode: 'only', byHash: await readManifest(file) } })
  const network = Network.create(async ({ id, text }, variables) => {
    expect(text).toBeNull()
    const body = JSON.stringify({ documentId: id, variables })
    return (
      await only.send('/graphql', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body })
    ).json()
  })
  const environment = new Environment({ network, store: new Store(new RecordSource()) })

  // The same as usePaginationFragment, without React.
  const operation = createOperationDescriptor(query, { count: 10 })
  environment.retain(operation)
  await fetchQuery<StoreQuery>(environment, query, { count: 10 }).toPromise()
  const connection = () => {
    const owner = environment.lookup(operation.fragment).data as unknown as StoreQuery$data // of this query
    const selector = getSingularSelector(fragment, owner)
    const data = selector && environment.lookup(selector).data
    return (data as unknown as Store_pets$data).pets // of this fragment
  }
  let pages = 1
  for (; connection().pageInfo.hasNextPage; pages++) {
    const cursor = connection().pageInfo.endCursor
    await fetchQuery<StorePageQuery>(environment, page, { count: 10, cursor }).toPromise()
  }
  expect(connection().edges.map(({ node }) => node.name)).toEqual(names)
  expect(pages).toBe(6)
})
