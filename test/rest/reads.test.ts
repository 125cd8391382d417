import { describe, expect } from 'vitest'
import { type TestService, testWithSharedService as test } from '../support/harness.ts'

const pet = { name: 'x', categoryId: 1 }

describe('a conditional read', () => {
  const sendIfNoneMatch = (service: TestService, path: string, etag: string, init: RequestInit = {}) =>
    service.send(path, { ...init, headers: { ...init.headers, 'If-None-Match': etag } })
  const etagOf = async (service: TestService, path: string) => (await service.send(path)).headers.get('etag') ?? ''

  const query = '/graphql?query={pets{nodes{id,name}}}'
  test.for(['/v1/pets', '/v1/pets?status=sold', '/v1/pets/1', query])(
    'of %s is 304 as long as the response is unchanged',
    async (path, { service }) => {
      await service.post(pet)
      const etag = await etagOf(service, path)
      for (const match of [etag, `W/${etag}`, `"a", ${etag}`, '*']) {
        const response = await sendIfNoneMatch(service, path, match)
        expect([response.status, await response.text()]).toEqual([304, ''])
        expect(response.headers.get('etag')).toBe(etag)
        expect(response.headers.get('cache-control')).toBe('private, no-cache')
      }
      expect((await sendIfNoneMatch(service, path, etag, { method: 'HEAD' })).status).toBe(304)
      expect((await sendIfNoneMatch(service, path, '"other"')).status).toBe(200)
      const ifMatch = { headers: { 'If-Match': '"other"' } }
      expect((await service.send(path, ifMatch)).status).toBe(200) // ignored (RFC 9110 §13.1.1)
      expect((await sendIfNoneMatch(service, path, etag, ifMatch)).status).toBe(304)
      if (path !== query && path !== '/v1/pets') return
      await service.post(pet)
      const changed = await sendIfNoneMatch(service, path, etag)
      expect([changed.status, changed.headers.get('etag') === etag]).toEqual([200, false])
    },
  )

  test('errors, 201 and any response to POST have no ETag, and must not be stored', async ({ service }) => {
    const responses = [
      await service.send('/v1/pets/0'),
      await service.post(pet),
      await service.send('/v1/x'),
      await sendIfNoneMatch(service, '/graphql?query={pet(id:"0"){id}}', '*'),
      await service.send('/graphql?query={pets(first:0){nodes{id}}}'),
      await service.send('/graphql?query={'),
      await service.postGraphQL({ query: '{ pets { nodes { id } } }' }, { 'If-None-Match': '*' }),
    ]
    for (const { status, headers } of responses)
      expect([status === 304, headers.get('etag'), headers.get('cache-control')]).toEqual([false, null, 'no-store'])
  })

  test('has an ETag for each media type, and another with the cost', async ({ service }) => {
    const json = { headers: { Accept: 'application/json' } }
    const responses = [
      await service.send(query, json),
      await service.send(query, { headers: { Accept: 'application/graphql-response+json' } }),
      await service.send(query, { headers: { 'GraphQL-Cost': 'include' } }),
    ]
    const etags = responses.map(({ headers }) => headers.get('etag') ?? '')
    expect(new Set(etags).size).toBe(3)
    for (const { headers } of responses) expect(headers.get('vary')).toContain('Accept, GraphQL-Cost')
    expect((await sendIfNoneMatch(service, query, etags[1] ?? '', json)).status).toBe(200)
  })
})

test('the next links lead to every existing animal exactly once, also while animals are added', async ({ service }) => {
  for (const status of ['sold', undefined, 'available', 'sold', 'sold']) await service.create({ status })
  for (const query of ['limit=1', 'limit=2&status=sold']) {
    const where = query.includes('sold') ? { status: 'sold' as const } : {}
    const rows = await service.database.prisma.animal.findMany({ where, orderBy: { id: 'desc' } })
    const seen: number[] = []
    let path: string | undefined = `/v1/pets?${query}`
    while (path) {
      const response: Response = await service.send(path)
      seen.push(...((await response.json()) as { id: number }[]).map(({ id }) => id))
      path = /<([^>]*)>; rel="next"/.exec(response.headers.get('link') ?? '')?.[1]
      await service.create({ status: 'sold' })
    }
    expect(seen).toEqual(rows.map(({ id }) => Number(id)))
  }
})

test('getPet is 200 until 5 December 2030, and from then on 410 with a link to its successor', async ({ service }) => {
  await service.post(pet)
  const before = await service.startPeer({ now: () => new Date('2030-12-04T23:59:59.999Z') })
  const after = await service.startPeer({ now: () => new Date('2030-12-05T00:00:00Z') })
  expect((await before.send('/v1/pets/1')).status).toBe(200)
  const gone = await after.send('/v1/pets/1')
  expect(await gone.json()).toEqual({ code: 'GONE', status: 410, message: expect.stringContaining('GET /v1/pets') })
  expect(gone.headers.get('link')).toBe('</v1/pets>; rel="successor-version"')
  expect((await after.send('/v1/pets')).status).toBe(200)
})
