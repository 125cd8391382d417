import { expect } from 'vitest'
import { testWithSharedService as test, type TestService } from '../support/harness.ts'

const QUERY = '{ pets(first: 5) { nodes { id name } } }'

const get = (service: TestService, query: string, headers: Record<string, string> = {}) =>
  service.send(`/graphql?${new URLSearchParams({ query })}`, { headers })

test('each media type, and a response with the cost, has an ETag of its own', async ({ service }) => {
  const responses = [
    await get(service, QUERY, { Accept: 'application/json' }),
    await get(service, QUERY, { Accept: 'application/graphql-response+json' }),
    await get(service, QUERY, { 'GraphQL-Cost': 'include' }),
  ]
  const etags = responses.map(({ headers }) => headers.get('etag'))
  expect(new Set(etags).size).toBe(3)
  const other = await get(service, QUERY, { Accept: 'application/json', 'If-None-Match': String(etags[1]) })
  expect(other.status).toBe(200)
})

test('a response with errors, and any response to POST, must not be stored', async ({ service }) => {
  const responses = [
    await get(service, '{ pet(id: "0") { id } }', { 'If-None-Match': '*' }),
    await get(service, '{ pets(first: 0) { nodes { id } } }'),
    await get(service, '{'),
    await service.postGraphQL({ query: QUERY }, { 'If-None-Match': '*' }),
  ]
  for (const { status, headers } of responses) {
    expect([status === 304, headers.get('etag'), headers.get('cache-control')]).toEqual([false, null, 'no-store'])
  }
})
