import { expect } from 'vitest'
import { testWithSharedService as test, type TestService } from '../support/harness.ts'

const QUERY = '{ pets(first: 5) { nodes { id name } } }'

const get = (service: TestService, query: string, headers: Record<string, string> = {}) =>
  service.send(`/graphql?${new URLSearchParams({ query })}`, { headers })

test('a query by GET has an ETag, and is 304 without a body until its result changes', async ({ service }) => {
  const first = await get(service, QUERY)
  const etag = first.headers.get('etag') ?? ''
  expect(first.headers.get('cache-control')).toBe('private, no-cache')
  expect(first.headers.get('vary')).toBe('Accept, GraphQL-Cost')
  for (const value of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
    const unchanged = await get(service, QUERY, { 'If-None-Match': value })
    expect([value, unchanged.status, await unchanged.text()]).toEqual([value, 304, ''])
    expect(unchanged.headers.get('etag')).toBe(etag)
  }
  await service.post({ name: 'Rex', categoryId: 1 })
  const changed = await get(service, QUERY, { 'If-None-Match': etag })
  expect([changed.status, changed.headers.get('etag') === etag]).toEqual([200, false])
})

test('HEAD has the headers of GET and no body', async ({ service }) => {
  const [url, { headers }] = [`/graphql?${new URLSearchParams({ query: QUERY })}`, await get(service, QUERY)]
  const head = await service.send(url, { method: 'HEAD' })
  expect([head.status, head.headers.get('etag'), await head.text()]).toEqual([200, headers.get('etag'), ''])
})

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
    await service.send('/graphql', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', 'If-None-Match': '*' },
      body: JSON.stringify({ query: QUERY }),
    }),
  ]
  for (const { status, headers } of responses) {
    expect([status === 304, headers.get('etag'), headers.get('cache-control')]).toEqual([false, null, 'no-store'])
  }
})
