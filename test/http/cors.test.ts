import { describe, expect } from 'vitest'
import { loadConfig } from '../../src/config/config.ts'
import { type TestService, testWithSharedService } from '../support/harness.ts'

const SHOP = 'https://shop.example'
const LISTED = [SHOP, 'http://localhost:5173']

/** `listed` is an instance with listed origins. */
const test = testWithSharedService.extend<{ listed: TestService }>({
  listed: [async ({ service }, use) => use(await service.startPeer({ CORS_ORIGINS: LISTED })), { scope: 'file' }],
})

const EXPOSED =
  'Link, ETag, Location, Retry-After, RateLimit, RateLimit-Policy, Deprecation, Sunset, X-Request-Id, ' +
  'Idempotent-Replayed, WWW-Authenticate, Allow'

const ALLOWED =
  'Authorization, Content-Type, Accept, Idempotency-Key, If-None-Match, X-Request-Id, traceparent, tracestate, ' +
  'GraphQL-Cost, Last-Event-ID, apollographql-client-name, apollographql-client-version, Apollo-Require-Preflight, ' +
  'graphql-client-name, graphql-client-version'

/** The headers of the CORS protocol, and Vary. */
function corsHeaders({ headers }: Response): Record<string, string> {
  return Object.fromEntries([...headers].filter(([name]) => name.startsWith('access-control-') || name === 'vary'))
}

function preflight(service: TestService, path: string, origin = SHOP): Promise<Response> {
  const headers = { Origin: origin, 'Access-Control-Request-Method': 'POST' }
  return fetch(service.base + path, { method: 'OPTIONS', headers, redirect: 'manual' })
}

test('without CORS_ORIGINS no response has a CORS header, and preflights are as other OPTIONS', async ({ service }) => {
  for (const path of ['/v1/pets', '/graphql', '/docs']) {
    const response = await service.send(path, { headers: { Origin: SHOP } })
    expect(Object.keys(corsHeaders(response)).join(), path).not.toContain('access-control')
    expect(response.headers.get('vary') ?? '', path).not.toContain('Origin')
  }
  const response = await preflight(service, '/v1/pets')
  expect([response.status, corsHeaders(response)]).toEqual([401, {}])
})

describe('with listed origins', () => {
  // Browsers follow the redirect of a slash after the preflight.
  test.for(['/v1/pets', '/v1/pets/1', '/graphql', '/graphql/', '/openapi.json'])(
    'a preflight for %s needs no key, and names what clients may send',
    async (path, { listed }) => {
      const response = await preflight(listed, path)
      expect([response.status, await response.text()]).toEqual([204, ''])
      expect(corsHeaders(response)).toEqual({
        'access-control-allow-origin': SHOP,
        'access-control-allow-methods': 'GET, HEAD, POST',
        'access-control-allow-headers': ALLOWED,
        'access-control-max-age': '7200',
        vary: 'Origin',
      })
    },
  )

  test('OPTIONS that is no preflight, or for an unknown address, is as without CORS', async ({ listed }) => {
    const cases: [string, Record<string, string>, number][] = [
      ['/v1/pets', { Origin: SHOP }, 401],
      ['/v1/pets', { 'Access-Control-Request-Method': 'POST' }, 401],
      ['/nowhere', { Origin: SHOP, 'Access-Control-Request-Method': 'POST' }, 404],
    ]
    for (const [path, headers, status] of cases) {
      const response = await fetch(listed.base + path, { method: 'OPTIONS', headers })
      expect([path, headers, response.status]).toEqual([path, headers, status])
      expect(response.headers.get('access-control-max-age')).toBeNull()
    }
    const options = await listed.send('/v1/pets', { method: 'OPTIONS', headers: { Origin: SHOP } })
    expect([options.status, options.headers.get('allow')]).toEqual([204, 'GET, HEAD, POST, OPTIONS'])
  })

  test.for<[status: number, path: string, init: RequestInit]>([
    [200, '/v1/pets', {}],
    [304, '/v1/pets', { headers: { 'If-None-Match': '*' } }],
    [401, '/v1/pets', { headers: { Authorization: '' } }],
    [413, '/v1/pets', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: 'x'.repeat(70_000) }],
    [200, '/graphql?query={__typename}', {}],
    [200, '/graphql', { headers: { Accept: 'text/html' } }],
  ])('a page of a listed origin reads the %i of %s, and caches see Vary', async ([status, path, init], { listed }) => {
    const sendFrom = (Origin: string) => listed.send(path, { ...init, headers: { ...init.headers, Origin } })
    const [allowed, refused] = [await sendFrom(SHOP), await sendFrom('https://evil.example')]
    expect([allowed.status, refused.status]).toEqual([status, status])
    const headers = { 'access-control-allow-origin': SHOP, 'access-control-expose-headers': EXPOSED }
    expect(corsHeaders(allowed)).toEqual({ ...headers, vary: expect.any(String) })
    expect(refused.headers.get('access-control-allow-origin')).toBeNull()
    for (const response of [allowed, refused, await listed.send(path, init)])
      expect(response.headers.get('vary')?.split(', ')).toContain('Origin')
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
])('a preflight permits $title; of another origin it is 204 without permission', async (row, { service }) => {
  const peer = await service.startPeer({ CORS_ORIGINS: row.CORS_ORIGINS })
  for (const origin of row.origins)
    expect(corsHeaders(await preflight(peer, '/graphql', origin))['access-control-allow-origin']).toBe(origin)
  for (const origin of row.others) {
    const response = await preflight(peer, '/graphql', origin)
    expect([origin, response.status, corsHeaders(response)]).toEqual([origin, 204, { vary: 'Origin' }])
  }
})

test('with CORS_ORIGINS=* every response is for every origin, and the same for all', async ({ service }) => {
  const peer = await service.startPeer({ CORS_ORIGINS: '*' })
  for (const headers of [{ Origin: SHOP }, {}]) {
    const response = await peer.send('/v1/pets', { headers })
    expect(corsHeaders(response)).toEqual({
      'access-control-allow-origin': '*',
      'access-control-expose-headers': EXPOSED,
    })
  }
  expect(corsHeaders(await preflight(peer, '/graphql'))['access-control-allow-origin']).toBe('*')
})
