import { randomUUID } from 'node:crypto'
import { exportSPKI, generateKeyPair, UnsecuredJWT } from 'jose'
import { describe, expect, onTestFinished } from 'vitest'
import { createKeyLookup } from '../../src/auth/key-lookup.ts'
import { VERIFY_MS } from '../../src/graphql/subscription/streams.ts'
import { openStream } from '../support/event-stream.ts'
import {
  bearer,
  startService,
  type TestService,
  type TestServiceOptions,
  testWithSharedService,
} from '../support/harness.ts'
import { usedHeapBytes } from '../support/heap.ts'
import { ANN, AUDIENCE, BOB, type Issuer, startIssuer } from '../support/issuer.ts'
import { SECRET } from '../support/key-leaks.ts'
import { stopClock, waitUntil } from '../support/timeouts.ts'

const CREATE = 'mutation { createPet(input: { name: "Rex", categoryId: "1" }) { id } }'

/** An issuer, and an instance that accepts its tokens. */
interface Fixtures {
  issuer: Issuer
  peer: TestService
}

/** Each test has an issuer of its own, unless it only signs tokens: then it uses `shared`. All share a database. */
const test = testWithSharedService.extend<Fixtures & { shared: Fixtures }>({
  issuer: async ({}, use) => use(await startIssuer()),
  peer: async ({ service, issuer }, use) => use(await startWithIssuer(service, issuer)),
  shared: [
    async ({ service }, use) => {
      const stops: (() => void)[] = []
      const issuer = await startIssuer((stop) => stops.push(stop))
      await use({ issuer, peer: await service.startPeer({ OIDC_ISSUER: issuer.url, OIDC_AUDIENCE: AUDIENCE }) })
      stops.forEach((stop) => stop())
    },
    { scope: 'file' },
  ],
})

const startWithIssuer = ({ databaseUrl, key }: TestService, { url }: Issuer, options: TestServiceOptions = {}) =>
  startService(databaseUrl, { key, OIDC_ISSUER: url, OIDC_AUDIENCE: AUDIENCE, ...options })

/** Sends a read to both APIs. @returns the response of REST, if that of GraphQL has the same status and headers */
async function read(service: TestService, token = ''): Promise<Response> {
  const rest = await service.send('/v1/pets', { headers: bearer(token) })
  const graphql = await service.postGraphQL({ query: '{ pets { totalCount } }' }, bearer(token))
  for (const name of ['www-authenticate', 'retry-after']) {
    const [one, other] = [rest, graphql].map((response) => response.headers.get(name) !== null)
    expect(one, name).toBe(other)
  }
  expect(graphql.status).toBe(rest.status)
  return rest
}

const statusOf = async (service: TestService, token?: string) => (await read(service, token)).status

const nowS = () => Math.floor(Date.now() / 1000)

describe('an access token', () => {
  test('has one rate limit with all tokens of its subject, in both APIs, beside keys', async ({ service, issuer }) => {
    stopClock() // the window of the limit does not end
    const peer = await startWithIssuer(service, issuer, { RATE_LIMIT_POINTS: 13 })
    const [one, other, stranger] = await Promise.all([ANN, ANN, BOB].map((sub, n) => issuer.sign({ sub, n })))
    const remaining = async (token = '') => {
      const response = await peer.send('/v1/pets', { headers: bearer(token) })
      return [response.status, response.headers.get('ratelimit')?.replace(/;t=.*/, '')]
    }
    expect(await remaining(one)).toEqual([200, '"key";r=12'])
    expect(await remaining(other)).toEqual([200, '"key";r=11'])
    expect(await remaining(stranger)).toEqual([200, '"key";r=12'])
    expect(await remaining(peer.key)).toEqual([200, '"key";r=12'])
    expect((await peer.postGraphQL({ query: CREATE }, bearer(one ?? ''))).headers.get('ratelimit')).toContain(';r=1;')
    expect(await remaining(one)).toEqual([200, '"key";r=0'])
    expect(await statusOf(peer, other)).toBe(429)
    expect(await remaining(stranger)).toEqual([200, '"key";r=11'])
  })

  test.for<[string, Record<string, unknown>, number[]]>([
    ['scope', { scope: 'pets:read email' }, [200, 403]],
    ['scope', { scope: 'pets:write' }, [403, 201]],
    ['scp as a list', { scope: undefined, scp: ['pets:read', 'pets:write'] }, [200, 201]],
    ['scp as a text', { scope: undefined, scp: 'pets:read' }, [200, 403]],
    ['scope, but never metrics:read,', { scope: 'metrics:read' }, [403, 403]],
  ])('has the scopes of its %s %j', async ([, claims, [reads, creates]], { shared: { peer, issuer } }) => {
    const token = await issuer.sign(claims)
    expect(await statusOf(peer, token)).toBe(reads)
    expect((await peer.post({ name: 'Rex', categoryId: 1 }, bearer(token))).status).toBe(creates)
    const { errors } = await (await peer.postGraphQL({ query: CREATE }, bearer(token))).json()
    expect(errors?.[0].extensions.status).toBe(creates === 201 ? undefined : creates)
    expect((await peer.send('/metrics', { headers: bearer(token) })).status).toBe(403)
  })

  test("shares idempotency keys with its subject's tokens, on all instances", async ({ service, peer, issuer }) => {
    const other = await startIssuer()
    const ofOther = await startWithIssuer(service, other)
    const instances = [peer, await startWithIssuer(service, issuer), peer, peer, ofOther]
    const tokens = await Promise.all([ANN, ANN, BOB].map((sub, n) => issuer.sign({ sub, n })))
    const ids: unknown[] = []
    for (const [n, token] of [...tokens, peer.key, await other.sign()].entries()) {
      const headers = { ...bearer(token), 'Idempotency-Key': 'once' }
      const response = await instances[n]?.post({ name: 'Rex', categoryId: 1 }, headers)
      expect(response?.status).toBe(201)
      ids.push((await response?.json())?.id)
    }
    expect(ids.map((id) => ids.indexOf(id))).toEqual([0, 0, 2, 3, 4])
  })

  test('is in the log as a hash of its subject, and in the metrics as token', async ({ peer, issuer }) => {
    const token = await issuer.sign()
    await peer.send('/v1/pets/1', { headers: bearer(token) })
    const { subject } = await peer.log.line({ route: '/v1/pets/{petId}', key: 'token' })
    expect(subject).toMatch(/^[0-9a-f]{16}$/)
    const headers = { ...bearer(`${token}x`), 'X-Request-Id': token, traceparent: token, 'User-Agent': token }
    await peer.send(`/v1/${token}?access_token=${token}`, { headers })
    await peer.log.line({ status: 401 })
    expect(JSON.stringify(peer.log.lines)).not.toMatch(SECRET)
    expect(await peer.metric('petstore_deprecated_calls_total{key_prefix="token"}')).toBe(1)
  })

  test.for<[string, object, object?]>([
    ['no type', {}, { typ: undefined }],
    ['the type JWT', {}, { typ: 'JWT' }],
    ['the type application/at+jwt', {}, { typ: 'application/at+jwt' }],
    ['a clock of the issuer that is a minute ahead', { nbf: nowS() + 60 }],
  ])('is accepted with %s', async ([, claims, header], { shared: { peer, issuer } }) => {
    expect(await statusOf(peer, await issuer.sign({ ...claims }, header))).toBe(200)
  })

  test('is accepted with a signature of a known key by one of four algorithms only', async ({ peer, issuer }) => {
    const keys = await Promise.all(['RS256', 'PS256', 'ES256', 'EdDSA', 'ES384'].map((alg) => issuer.add(alg)))
    const { privateKey } = await generateKeyPair('ES256')
    const publicKey = new TextEncoder().encode(keys[0] && (await exportSPKI(keys[0].publicKey)))
    const tokens = [
      ...keys.map(({ sign }) => sign()),
      issuer.sign({}, {}, privateKey), // of another issuer
      issuer.sign({}, { alg: 'HS256', kid: 'RS256' }, publicKey),
      new UnsecuredJWT({ iss: issuer.url, aud: AUDIENCE, sub: ANN, exp: nowS() + 3_600 }).encode(),
    ]
    const statuses = []
    for (const token of tokens) statuses.push(await statusOf(peer, await token))
    expect(statuses).toEqual([200, 200, 200, 200, 401, 401, 401, 401])
  })

  test('is remembered with at most 9,999 others', async ({ service }) => {
    const expiresAt = new Date(Date.now() + 3_600_000)
    const caller = { keyId: undefined, clientId: -1n, keyPrefix: 'token', scopes: new Set<never>(), expiresAt }
    const { statements } = service.database
    const now = () => new Date()
    const lookup = createKeyLookup(statements, now, async () => caller)
    for (let n = 0; n <= 10_000; n++) await lookup.findByToken?.(`hash ${n}`, 'a token')
    expect([await lookup.cached('hash 0'), await lookup.cached('hash 10000')]).toEqual([undefined, caller])
  })
})

describe('an access token is 401 invalid_token in both APIs', () => {
  test.for<[string, object, object?]>([
    ['of another audience', { aud: 'https://other.example' }],
    ['of another issuer', { iss: 'https://other.example' }],
    ['without a subject', { sub: undefined }],
    ['with an empty subject', { sub: '' }],
    ['with a number as subject', { sub: 1 }],
    ['without an expiry', { exp: undefined }],
    ['with an expiry that is no date', { exp: 1e300 }],
    ['that has expired a second ago', { exp: nowS() - 1 }],
    ['that is not valid for half an hour', { nbf: nowS() + 1_800 }],
    ['of another type', {}, { typ: 'logout+jwt' }],
  ])('%s', async ([, claims, header], { shared: { peer, issuer } }) => {
    const response = await read(peer, await issuer.sign({ ...claims }, header))
    const challenge = 'Bearer realm="petstore", error="invalid_token"'
    expect([response.status, response.headers.get('www-authenticate')]).toEqual([401, challenge])
  })

  test('if no issuer is configured', async ({ service, issuer }) => {
    expect(await statusOf(service, await issuer.sign())).toBe(401)
    expect(issuer.requests).toEqual([])
  })
})

test.for([
  ['invalid', 401],
  ['of an unknown key', 503],
] as const)(
  'tokens that are %s are %i, and 429 beyond the limit of failed authentications; one that was verified before is not',
  async ([problem, status], { service, issuer }) => {
    stopClock() // the window of the limit does not end
    const peer = await startWithIssuer(service, issuer, { limits: { failedAuthentications: 4 } })
    const [token, other] = [await issuer.sign(), await issuer.sign({ jti: '2' })]
    expect(await statusOf(peer, token)).toBe(200)
    const sign = problem === 'invalid' ? issuer.sign : await issuer.rotate('unknown', false)
    for (const expected of [status, status, 429]) {
      expect(await statusOf(peer, await sign({ aud: 'https://other.example', jti: randomUUID() }))).toBe(expected)
    }
    expect([await statusOf(peer, token), await statusOf(peer, other)]).toEqual([200, 429])
    const rejections = peer.log.lines.filter(({ msg }) => msg === 'access token rejected')
    expect(rejections.map(({ reason }) => reason)).toEqual(problem === 'invalid' ? ['aud'] : []) // once in a minute
  },
)

describe('the keys of the issuer', () => {
  test('are fetched at the first token, by one request for all that wait', async ({ peer, issuer }) => {
    expect((await peer.send('/v1/pets')).status).toBe(200)
    expect(issuer.requests).toEqual([])
    const tokens = await Promise.all(Array.from({ length: 10 }, (_, n) => issuer.sign({ n })))
    expect(new Set(await Promise.all(tokens.map((token) => statusOf(peer, token))))).toEqual(new Set([200]))
    expect(issuer.requests).toEqual(['/realm/.well-known/openid-configuration', '/realm/jwks'])
  })

  test('are fetched again for an unknown one; tokens of a removed one are accepted if they were before, until they expire', async ({
    service,
    issuer,
  }) => {
    const clock = stopClock()
    let time = Date.now()
    const peer = await startWithIssuer(service, issuer, { now: () => new Date(time) })
    const old = await issuer.sign()
    expect(await statusOf(peer, old)).toBe(200)
    const sign = await issuer.rotate('second')
    clock.advance(11_000)
    expect(await statusOf(peer, await sign())).toBe(200)
    clock.advance(11_000)
    expect(await statusOf(peer, await issuer.sign({ jti: 'new' }))).toBe(401)
    expect(await statusOf(peer, old)).toBe(200)
    time += 2 * 3_600_000
    expect(await statusOf(peer, old)).toBe(401)
  })

  test('are fetched again when they are ten minutes old, while the known ones serve', async ({ peer, issuer }) => {
    const clock = stopClock()
    for (const minutes of [0, 9, 2]) {
      expect(issuer.requests).toHaveLength(minutes === 0 ? 0 : 2)
      clock.advance(minutes * 60_000)
      expect(await statusOf(peer, await issuer.sign({ minutes }))).toBe(200)
    }
    await waitUntil(() => issuer.requests.length === 4)
  })

  test('are asked for once in a cool-down, however many are unknown: 503 meanwhile', async ({ peer, issuer }) => {
    const clock = stopClock()
    expect(await statusOf(peer, await issuer.sign())).toBe(200)
    const unknown = await issuer.rotate('unknown', false)
    const tokens = await Promise.all(Array.from({ length: 20 }, (_, n) => unknown({ n })))
    const statuses = async () => new Set(await Promise.all(tokens.map((token) => statusOf(peer, token))))
    expect(await statuses()).toEqual(new Set([503]))
    expect(issuer.requests).toHaveLength(2)
    clock.advance(11_000)
    expect(await statusOf(peer, await unknown())).toBe(401) // the issuer was asked, and does not know it
    expect(await statuses()).toEqual(new Set([503]))
    expect(issuer.requests).toHaveLength(4)
  })

  test('that are known serve while the issuer is away; an unknown one is 503, never 401', async ({ peer, issuer }) => {
    const clock = stopClock()
    const unknown = await issuer.rotate('unknown', false)
    expect(await statusOf(peer, await issuer.sign())).toBe(200)
    issuer.fault = 503
    clock.advance(3_600_000)
    expect(await statusOf(peer, await issuer.sign({ jti: 'new' }))).toBe(200)
    const response = await read(peer, await unknown())
    expect([response.status, response.headers.get('retry-after')]).toEqual([503, '10'])
    expect(await response.json()).toMatchObject({ code: 'UNAVAILABLE', status: 503 })
    expect((await peer.send('/v1/pets')).status).toBe(200) // a key needs no issuer
  })

  test('are not awaited for more than three seconds, even if memory is collected', async ({ service }) => {
    const collecting = setInterval(usedHeapBytes, 1_000)
    onTestFinished(() => clearInterval(collecting))
    const statuses = (['silence', 'stall'] as const).map(async (fault) => {
      const issuer = Object.assign(await startIssuer(), { fault })
      return statusOf(await startWithIssuer(service, issuer), await issuer.sign())
    })
    expect(await Promise.all(statuses)).toEqual([503, 503])
  })

  test.for<[string, (issuer: Issuer) => object, string]>([
    ['calls itself by another name', () => ({ issuer: 'https://other.example' }), 'calls itself https://other.example'],
    ['names keys with another protocol', () => ({ jwks_uri: 'https://127.0.0.1/jwks' }), 'has another protocol'],
    ['redirects to its keys', ({ url }) => ({ jwks_uri: `${url}/moved` }), 'redirect'],
  ])('are not used if the issuer %s, and the log says why', async ([, toMetadata, expected], { peer, issuer }) => {
    issuer.metadata = toMetadata(issuer)
    expect(await statusOf(peer, await issuer.sign())).toBe(503)
    const { reason } = await peer.log.line({ msg: 'failed to fetch the keys of OIDC_ISSUER' })
    expect(reason).toContain(expected)
  })
})

test('a stream ends within five seconds of its token, and others go on', async ({ service, issuer }) => {
  let time = Date.now()
  const peer = await startWithIssuer(service, issuer, { now: () => new Date(time) })
  const subscribe = async (claims = {}) =>
    openStream({ ...peer, key: await issuer.sign(claims) }, { query: 'subscription { petCreated { cursor } }' })
  const [stream, other] = [await subscribe(), await subscribe({ exp: nowS() + 3 * 3_600 })]
  time += 2 * 3_600_000
  await waitUntil(() => stream.ended)
  expect(VERIFY_MS).toBeLessThan(5_000)
  const data = expect.stringContaining('"extensions":{"code":"UNAUTHENTICATED","status":401}')
  expect(stream.events()).toMatchObject([{ data }, { event: 'complete' }])
  expect(other.ended).toBeUndefined()
})
