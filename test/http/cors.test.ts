import { describe, expect } from 'vitest'
import { loadConfig } from '../../src/config.ts'
import { type TestService, testWithSharedService } from '../support/harness.ts'

const SHOP = 'https://shop.example'
const LISTED = [SHOP, 'http://localhost:5173']

/** `listed` is an instance with listed origins. */
const test = testWithSharedService.extend<{ listed: TestService }>({
  listed: [async ({ service }, use) => use(await service.startPeer({ CORS_ORIGINS: LISTED })), { scope: 'file' }],
})

const EXPOSED = [
  ...['Link', 'ETag', 'Location', 'Retry-After', 'RateLimit', 'RateLimit-Policy', 'Deprecation', 'Sunset'],
  ...['X-Request-Id', 'Idempotent-Replayed', 'WWW-Authenticate', 'Allow'],
]

const ALLOWED = [
  ...['Authorization', 'Content-Type', 'Accept', 'Idempotency-Key', 'If-None-Match', 'X-Request-Id'],
  ...['traceparent', 'tracestate', 'GraphQL-Cost', 'Last-Event-ID'],
  ...['apollographql-client-name', 'apollographql-client-version', 'Apollo-Require-Preflight'],
  ...['graphql-client-name', 'graphql-client-version'],
]

/** The headers of the CORS protocol, and Vary. */
function corsHeaders({ headers }: Response): Record<string, string> {
  return Object.fromEntries([...headers].filter(([name]) => name.startsWith('access-control-') || name === 'vary'))
}

function preflight(service: TestService, path: string, origin = SHOP): Promise<Response> {
  const headers = { Origin: origin, 'Access-Control-Request-Method': 'POST' }
  return fetch(service.base + path, { method: 'OPTIONS', headers })
}

const addresses = ['/v1/pets', '/v1/pets/1', '/graphql', '/openapi.json', '/docs', '/livez']
/** Also for addresses whose slash a redirect removes: browsers follow it after the preflight. */
const preflightAddresses = [...addresses, '/graphql/', '/v1/pets/']

test('without CORS_ORIGINS no response has a CORS header, and preflights are as other OPTIONS', async ({ service }) => {
  for (const path of addresses) {
    const response = await service.send(path, { headers: { Origin: SHOP } })
    expect(Object.keys(corsHeaders(response)).join(), path).not.toContain('access-control')
    expect(response.headers.get('vary') ?? '', path).not.toContain('Origin')
  }
  const response = await preflight(service, '/v1/pets')
  expect([response.status, corsHeaders(response)]).toEqual([401, {}])
})

describe('with listed origins', () => {
  test('a preflight of a listed origin needs no key, and names what clients may send', async ({ listed: peer }) => {
    for (const path of preflightAddresses) {
      const response = await preflight(peer, path)
      expect([path, response.status, await response.text()]).toEqual([path, 204, ''])
      expect(corsHeaders(response)).toEqual({
        'access-control-allow-origin': SHOP,
        'access-control-allow-methods': 'GET, HEAD, POST',
        'access-control-allow-headers': ALLOWED.join(', '),
        'access-control-max-age': '7200',
        vary: 'Origin',
      })
    }
  })

  test('OPTIONS that is no preflight, or for an unknown address, is as without CORS', async ({ listed: peer }) => {
    const cases: [string, Record<string, string>, number][] = [
      ['/v1/pets', { Origin: SHOP }, 401],
      ['/v1/pets', { 'Access-Control-Request-Method': 'POST' }, 401],
      ['/nowhere', { Origin: SHOP, 'Access-Control-Request-Method': 'POST' }, 404],
      ['/v1/nowhere', { Origin: SHOP, 'Access-Control-Request-Method': 'POST' }, 401],
    ]
    for (const [path, headers, status] of cases) {
      const response = await fetch(peer.base + path, { method: 'OPTIONS', headers })
      expect([path, headers, response.status]).toEqual([path, headers, status])
      expect(response.headers.get('access-control-max-age')).toBeNull()
    }
    const options = await peer.send('/v1/pets', { method: 'OPTIONS', headers: { Origin: SHOP } })
    expect([options.status, options.headers.get('allow')]).toEqual([204, 'GET, HEAD, POST, OPTIONS'])
  })

  test('a page sees status and headers of each response, errors too; caches see Vary', async ({ listed: peer }) => {
    await peer.post({ name: 'Rex', categoryId: 1 })
    const etag = (await peer.send('/v1/pets')).headers.get('etag') ?? ''
    const json = { 'Content-Type': 'application/json' }
    const cases: [number, string, RequestInit][] = [
      [200, '/v1/pets', {}],
      [304, '/v1/pets', { headers: { 'If-None-Match': etag } }],
      [401, '/v1/pets', { headers: { Authorization: '' } }],
      [404, '/v1/pets/0', {}],
      [405, '/v1/pets', { method: 'DELETE' }],
      [413, '/v1/pets', { method: 'POST', headers: json, body: 'x'.repeat(70_000) }],
      [415, '/v1/pets', { method: 'POST', body: '{}' }],
      [200, '/graphql', { method: 'POST', headers: json, body: '{"query":"{ pets { nodes { id } } }"}' }],
      [200, '/docs', {}],
      [200, '/graphql', { headers: { Accept: 'text/html' } }],
    ]
    for (const [status, path, init] of cases) {
      const sendFrom = (Origin: string) => peer.send(path, { ...init, headers: { ...init.headers, Origin } })
      const [allowed, refused] = [await sendFrom(SHOP), await sendFrom('https://evil.example')]
      const label = `${status} ${path}`
      expect([label, allowed.status, refused.status]).toEqual([label, status, status])
      const headers = corsHeaders(allowed)
      expect(headers['access-control-allow-origin'], label).toBe(SHOP)
      expect(headers['access-control-expose-headers']?.split(', '), label).toEqual(EXPOSED)
      expect(headers, label).not.toHaveProperty('access-control-allow-credentials')
      expect(refused.headers.get('access-control-allow-origin'), label).toBeNull()
      for (const response of [allowed, refused, await peer.send(path, init)]) {
        expect(response.headers.get('vary')?.split(', '), label).toContain('Origin')
      }
    }
  })
})

test.for([
  {
    title: 'listed origins',
    CORS_ORIGINS: LISTED,
    origins: LISTED,
    others: [
      ...['https://evil.example', 'https://shop.example.evil', 'http://shop.example', 'null', '*'],
      ...['https://Shop.example', `${SHOP}:8443`, `${SHOP}, ${SHOP}`, 'http://localhost:5174'],
    ],
  },
  {
    title: 'localhost on any port, in development',
    CORS_ORIGINS: loadConfig({}).CORS_ORIGINS,
    origins: ['http://localhost:5173', 'https://localhost', 'http://127.0.0.1:3000', 'http://[::1]:8080'],
    others: ['http://localhost.evil.example', 'http://evil.example', 'null', 'http://localhost:80@evil.example'],
  },
])('a preflight permits $title; of another origin it is 204 without permission', async (row, { service, listed }) => {
  const { CORS_ORIGINS } = row
  const peer = CORS_ORIGINS === LISTED ? listed : await service.startPeer({ CORS_ORIGINS })
  for (const origin of row.origins)
    expect(corsHeaders(await preflight(peer, '/graphql', origin))['access-control-allow-origin']).toBe(origin)
  for (const origin of row.others) {
    const response = await preflight(peer, '/graphql', origin)
    expect([origin, response.status, corsHeaders(response)]).toEqual([origin, 204, { vary: 'Origin' }])
  }
})

test('with CORS_ORIGINS=* every response is for every origin, and the same for all', async ({ service }) => {
  const peer = await service.startPeer({ CORS_ORIGINS: '*' })
  for (const headers of [{ Origin: SHOP }, { Origin: 'null' }, {}]) {
    const response = await peer.send('/v1/pets', { headers })
    expect(corsHeaders(response)).toEqual({
      'access-control-allow-origin': '*',
      'access-control-expose-headers': EXPOSED.join(', '),
    })
  }
  expect(corsHeaders(await preflight(peer, '/graphql'))['access-control-allow-origin']).toBe('*')
})
