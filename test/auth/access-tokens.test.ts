import { randomUUID } from 'node:crypto'
import { exportJWK, exportSPKI, generateKeyPair, UnsecuredJWT } from 'jose'
import { describe, expect, onTestFinished, vi } from 'vitest'
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

const SUBSCRIPTION = 'subscription New($after: String) { petCreated(after: $after) { cursor node { name } } }'
const CREATE = 'mutation { createPet(input: { name: "Rex", categoryId: "1" }) { id } }'

/** An issuer, and an instance that accepts its tokens. */
interface Fixtures {
  issuer: Issuer
  peer: TestService
}

/** Each test has an issuer of its own; all share a database. */
const test = testWithSharedService.extend<Fixtures>({
  issuer: async ({}, use) => use(await startIssuer()),
  peer: async ({ service, issuer }, use) => use(await startWithIssuer(service, issuer)),
})

/** The keys that an issuer has beside its own. */
type Keys = Record<string, Awaited<ReturnType<Issuer['add']>>>

/** Tests that only sign tokens share an issuer, its keys and the instance. */
const testOfToken = testWithSharedService.extend<{ shared: Fixtures & { keys: Keys } }>({
  shared: [
    async ({ service }, use) => {
      const stops: (() => void)[] = []
      const issuer = await startIssuer((stop) => stops.push(stop))
      const keys: Keys = {}
      for (const alg of ['RS256', 'PS256', 'EdDSA', 'ES384']) keys[alg] = await issuer.add(alg)
      await use({ issuer, keys, peer: await service.startPeer({ OIDC_ISSUER: issuer.url, OIDC_AUDIENCE: AUDIENCE }) })
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

const nowS = () => Math.floor(Date.now() / 1000)

/** A pair that no issuer has. */
const stranger = await generateKeyPair('ES256')
const jwk = await exportJWK(stranger.publicKey)

/** The claims of a token of five minutes whose issuer has a clock that is ahead. */
const issuedAt = (seconds: number) => ({ iat: nowS() + seconds, nbf: nowS() + seconds, exp: nowS() + seconds + 300 })

type Signing = [title: string, sign: (issuer: Issuer, keys: Keys) => Promise<string | undefined>]

const statusOf = async (service: TestService, token?: string) => (await read(service, token)).status

describe('an access token', () => {
  test('has one rate limit with all tokens of its subject, in both APIs, beside keys', async ({ service, issuer }) => {
    stopClock() // the window of the limit does not end
    const peer = await startWithIssuer(service, issuer, { RATE_LIMIT_POINTS: 70 })
    const [one, other, stranger] = await Promise.all([ANN, ANN, BOB].map((sub, n) => issuer.sign({ sub, n })))
    const remaining = async (token = '') => {
      const response = await peer.send('/v1/pets', { headers: bearer(token) })
      return [response.status, response.headers.get('ratelimit')?.replace(/;t=.*/, '')]
    }
    expect(await remaining(one)).toEqual([200, '"key";r=69'])
    expect(await remaining(other)).toEqual([200, '"key";r=68'])
    expect(await remaining(stranger)).toEqual([200, '"key";r=69'])
    expect(await remaining(peer.key)).toEqual([200, '"key";r=69'])
    expect((await peer.postGraphQL({ query: CREATE }, bearer(one ?? ''))).headers.get('ratelimit')).toContain(';r=58')
    for (let n = 0; n < 60; n++) await remaining(one)
    const rejected = await read(peer, other)
    expect([rejected.status, Number(rejected.headers.get('retry-after')) > 0]).toEqual([429, true])
    expect(await statusOf(peer, stranger)).toBe(200)
  })

  testOfToken.for<[string, Record<string, unknown>, number[]]>([
    ['scope', { scope: 'pets:read email' }, [200, 403]],
    ['scope', { scope: 'pets:write' }, [403, 201]],
    ['scp as a list', { scope: undefined, scp: ['pets:read', 'pets:write'] }, [200, 201]],
    ['scp as a text', { scope: undefined, scp: 'pets:read' }, [200, 403]],
    ['no scope', { scope: undefined }, [403, 403]],
    ['a scope of another type', { scope: { 'pets:read': true } }, [403, 403]],
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
    await peer.log.line({ msg: 'access token rejected' })
    await peer.log.line({ status: 401 })
    expect(JSON.stringify(peer.log.lines)).not.toMatch(SECRET)
    expect(await peer.metric('petstore_deprecated_calls_total{key_prefix="token"}')).toBe(1)
  })

  test('costs neither a query nor a verification until it expires', async ({ service, issuer }) => {
    const clock = stopClock()
    let time = Date.now()
    const peer = await startWithIssuer(service, issuer, { now: () => new Date(time) })
    const verify = vi.spyOn(crypto.subtle, 'verify')
    onTestFinished(() => verify.mockRestore())
    const token = await issuer.sign()
    for (const minutes of [0, 1, 57]) {
      clock.advance(minutes * 60_000)
      time += minutes * 60_000
      expect(await statusOf(peer, token)).toBe(200)
    }
    expect(verify).toHaveBeenCalledTimes(1)
    time += 10 * 60_000
    expect(await statusOf(peer, token)).toBe(401)
  })

  const accepted: Signing[] = [
    ['ES256', (issuer) => issuer.sign()],
    ...['RS256', 'PS256', 'EdDSA'].map((alg): Signing => [alg, async (_issuer, keys) => keys[alg]?.sign()]),
    ['no type', (issuer) => issuer.sign({}, { typ: undefined })],
    ['the type JWT', (issuer) => issuer.sign({}, { typ: 'JWT' })],
    ['the type application/at+jwt', (issuer) => issuer.sign({}, { typ: 'application/at+jwt' })],
    ['a clock of the issuer that is a minute ahead', (issuer) => issuer.sign(issuedAt(60))],
    ['a clock of the issuer that is a minute behind', (issuer) => issuer.sign(issuedAt(-60))],
    ['4 KB', (issuer) => issuer.sign({ roles: 'x'.repeat(3_000) })],
  ]
  testOfToken.for(accepted)('is accepted with %s', async ([, sign], { shared: { peer, issuer, keys } }) => {
    expect(await statusOf(peer, await sign(issuer, keys))).toBe(200)
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
  const invalid: Signing[] = [
    ['of another audience', (issuer) => issuer.sign({ aud: 'https://other.example' })],
    ['without an audience', (issuer) => issuer.sign({ aud: undefined })],
    ['of another issuer', (issuer) => issuer.sign({ iss: `${issuer.url}/` })],
    ['without an issuer', (issuer) => issuer.sign({ iss: undefined })],
    ['without a subject', (issuer) => issuer.sign({ sub: undefined })],
    ['with an empty subject', (issuer) => issuer.sign({ sub: '' })],
    ['with a number as subject', (issuer) => issuer.sign({ sub: 1 as never })],
    ['without an expiry', (issuer) => issuer.sign({ exp: undefined })],
    ['with a text as expiry', (issuer) => issuer.sign({ exp: '9999999999' as never })],
    ['with an expiry that is no date', (issuer) => issuer.sign({ exp: 1e300 })],
    ['that has expired a second ago', (issuer) => issuer.sign({ exp: nowS() - 1 })],
    ['that is not valid for half an hour', (issuer) => issuer.sign({ nbf: nowS() + 1_800 })],
    ['of another type', (issuer) => issuer.sign({}, { typ: 'logout+jwt' })],
    ['with an unknown critical extension', (issuer) => issuer.sign({}, { crit: ['x'], x: 1 }).catch(() => 'a.b.c')],
    [
      'with alg none',
      async (issuer) => new UnsecuredJWT({ iss: issuer.url, aud: AUDIENCE, sub: ANN, exp: nowS() + 3_600 }).encode(),
    ],
    [
      'signed with HS256 and the public key as its secret',
      async (issuer, keys) => {
        const secret = keys['RS256'] && new TextEncoder().encode(await exportSPKI(keys['RS256'].publicKey))
        return issuer.sign({}, { alg: 'HS256', kid: 'RS256' }, secret)
      },
    ],
    ['signed with ES384, which is not allowed, by a key of the issuer', async (_issuer, keys) => keys['ES384']?.sign()],
    ['signed by another key with a known name', (issuer) => issuer.sign({}, {}, stranger.privateKey)],
    ['with a key of its own in the header', (issuer) => issuer.sign({}, { jwk }, stranger.privateKey)],
    ['whose parts are not JSON', async () => 'a.b.c'],
  ]
  testOfToken.for(invalid)('%s', async ([, sign], { shared: { peer, issuer, keys } }) => {
    expect(await statusOf(peer, await issuer.sign())).toBe(200)
    const response = await read(peer, await sign(issuer, keys))
    const challenge = 'Bearer realm="petstore", error="invalid_token"'
    expect([response.status, response.headers.get('www-authenticate')]).toEqual([401, challenge])
  })

  test('if no issuer is configured', async ({ service, issuer }) => {
    const response = await read(service, await issuer.sign())
    expect([response.status, (await response.json()).message]).toEqual([401, 'The API key is not valid.'])
    expect(issuer.requests).toEqual([])
  })
})

test.for(['invalid', 'of an unknown key'])(
  'tokens that are %s are 429 beyond the limit of failed authentications, one that was verified before is not',
  async (problem, { service, issuer }) => {
    stopClock() // the window of the limit does not end
    const peer = await startWithIssuer(service, issuer, { limits: { failedAuthentications: 4 } })
    const [token, other] = [await issuer.sign(), await issuer.sign({ jti: '2' })]
    expect(await statusOf(peer, token)).toBe(200)
    const isInvalid = problem === 'invalid'
    const sign = isInvalid ? issuer.sign : await issuer.rotate('unknown', false)
    for (const status of [isInvalid ? 401 : 503, isInvalid ? 401 : 503, 429]) {
      expect(await statusOf(peer, await sign({ aud: 'https://other.example', jti: randomUUID() }))).toBe(status)
    }
    expect([await statusOf(peer, token), await statusOf(peer, other)]).toEqual([200, 429])
    if (!isInvalid) return
    await peer.log.line({ msg: 'access token rejected', reason: 'aud' })
    expect(peer.log.lines.filter(({ msg }) => msg === 'access token rejected')).toHaveLength(1) // in a minute
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

  test('are fetched again for an unknown one; removed ones are no longer accepted', async ({ peer, issuer }) => {
    const clock = stopClock()
    const old = await issuer.sign()
    expect(await statusOf(peer, old)).toBe(200)
    const sign = await issuer.rotate('second')
    clock.advance(11_000)
    expect(await statusOf(peer, await sign())).toBe(200)
    clock.advance(11_000)
    expect(await statusOf(peer, await issuer.sign({ jti: 'new' }))).toBe(401)
    expect(await statusOf(peer, old)).toBe(200) // remembered until it expires
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
    const tokens = await Promise.all(Array.from({ length: 50 }, (_, n) => unknown({ n })))
    const send = (token: string) => peer.send('/v1/pets', { headers: bearer(token) })
    const responses = await Promise.all(tokens.map(send))
    expect(new Set(responses.map(({ status }) => status))).toEqual(new Set([503]))
    const waits = responses.map((response) => Number(response.headers.get('retry-after')))
    expect([Math.min(...waits) >= 1, Math.max(...waits) <= 10]).toEqual([true, true])
    expect(issuer.requests).toHaveLength(2)
    clock.advance(11_000)
    expect((await send(await unknown({ n: -1 }))).status).toBe(401) // the issuer was asked, and does not know it
    const statuses = await Promise.all(tokens.map(send))
    expect(new Set(statuses.map(({ status }) => status))).toEqual(new Set([503]))
    expect(issuer.requests).toHaveLength(4)
  })

  test('that are known serve while the issuer is away; an unknown one is 503, never 401', async ({ peer, issuer }) => {
    const clock = stopClock()
    const unknown = await issuer.rotate('unknown', false)
    expect(await statusOf(peer, await issuer.sign())).toBe(200)
    issuer.fault = 503
    for (const minutes of [1, 20, 60]) {
      clock.advance(minutes * 60_000)
      expect(await statusOf(peer, await issuer.sign({ minutes }))).toBe(200)
      const response = await read(peer, await unknown({ minutes }))
      expect([response.status, Number(response.headers.get('retry-after')) > 0]).toEqual([503, true])
      expect(await response.json()).toMatchObject({ code: 'UNAVAILABLE', status: 503 })
    }
    const reason = `${issuer.url}/.well-known/openid-configuration: status 503`
    await peer.log.line({ msg: 'failed to fetch the keys of OIDC_ISSUER', reason })
    expect((await peer.send('/v1/pets')).status).toBe(200) // a key needs no issuer
  })

  test.for(['silence', 'stall'] as const)(
    'are not awaited for more than three seconds after a %s, even if memory is collected',
    async (fault, { peer, issuer }) => {
      issuer.fault = fault
      const response = read(peer, await issuer.sign())
      await waitUntil(() => issuer.requests.length === 1)
      const collecting = setInterval(usedHeapBytes, 1_000)
      onTestFinished(() => clearInterval(collecting))
      expect((await response).status).toBe(503)
    },
  )

  test.for<[string, (issuer: Issuer) => object, string]>([
    ['calls itself by another name', () => ({ issuer: 'https://other.example' }), 'calls itself https://other.example'],
    ['names keys with another protocol', () => ({ jwks_uri: 'https://127.0.0.1/jwks' }), 'has another protocol'],
    ['names no keys', () => ({ jwks_uri: undefined }), 'Invalid URL'],
    ['redirects to its keys', ({ url }) => ({ jwks_uri: `${url}/moved` }), 'unexpected redirect'],
  ])('are not used if the issuer %s, and the log says why', async ([, toMetadata, expected], { peer, issuer }) => {
    issuer.metadata = toMetadata(issuer)
    expect(await statusOf(peer, await issuer.sign())).toBe(503)
    const { reason } = await peer.log.line({ msg: 'failed to fetch the keys of OIDC_ISSUER' })
    expect(reason).toContain(expected)
  })
})

test('a stream ends within five seconds of its token, and continues with a new one', async ({ service, issuer }) => {
  let time = Date.now()
  const peer = await startWithIssuer(service, issuer, { now: () => new Date(time) })
  const exp = Math.floor(time / 1000) + 3 * 3_600
  const subscribe = (key: string, after?: string) =>
    openStream({ ...peer, key }, { query: SUBSCRIPTION, variables: { after } })
  const [stream, other] = [await subscribe(await issuer.sign()), await subscribe(await issuer.sign({ exp }))]
  const add = (name: string) => peer.post({ name, categoryId: 1 })
  await add('before')
  const [first] = await stream.received(1)
  time += 2 * 3_600_000
  await waitUntil(() => stream.ended)
  expect(VERIFY_MS).toBeLessThan(5_000)
  const [end, complete] = stream.events().slice(1)
  const message = 'The access token is not valid, or has expired.'
  expect(JSON.parse(end?.data ?? '')).toEqual({
    errors: [{ message, extensions: { code: 'UNAUTHENTICATED', status: 401 } }],
  })
  expect([complete?.event, stream.ended]).toEqual(['complete', 'complete'])
  await add('between')
  const next = await subscribe(await issuer.sign({ exp, jti: 'next' }), first?.id)
  await add('after')
  const names = (await next.received(2)).map(({ data }) => JSON.parse(data).data.petCreated.node.name)
  expect(names).toEqual(['between', 'after'])
  expect(other.ended).toBeUndefined()
})
