import { expect, vi } from 'vitest'
import { type TestService, testWithService } from '../support/harness.ts'
import { AUDIENCE } from '../support/issuer.ts'
import { waitUntil } from '../support/timeouts.ts'
import { startIssuer } from './issuer.ts'
import { add, liveClients, openList, trusted } from './live-list.ts'

const BOTH = { scope: 'pets:read pets:write', resource: AUDIENCE }

const test = testWithService.extend<{ issuer: Awaited<ReturnType<typeof startIssuer>> }>({
  // Vitest requires a destructuring pattern as first parameter.
  issuer: async ({}, use) => {
    const issuer = await startIssuer('http://localhost:5173/')
    await use(issuer)
    issuer.stop()
  },
})

const bearer = (token: string) => ({ Authorization: `Bearer ${token}` })

/** @returns the statuses of a read and a write, which are the same in both APIs */
async function statusesOf(peer: TestService, token: string): Promise<number[]> {
  const pet = { name: 'Rex', categoryId: '1' }
  const create = { query: 'mutation ($pet: NewPet!) { createPet(input: $pet) { id } }', variables: { pet } }
  const read = await peer.postGraphQL({ query: '{ pets { totalCount } }' }, bearer(token))
  const write = await peer.postGraphQL(create, bearer(token))
  const statuses = [
    (await peer.send('/v1/pets', { headers: bearer(token) })).status,
    (await peer.post({ name: 'Rex', categoryId: 1 }, bearer(token))).status,
  ]
  expect([read.status, write.status]).toEqual(statuses.map((status) => (status === 201 ? 200 : status)))
  return statuses
}

test.for([
  ['both scopes', BOTH, [200, 201]],
  ['one scope', { ...BOTH, scope: 'pets:read' }, [200, 403]],
  ['no scope', { resource: AUDIENCE }, [403, 403]],
  ['another audience', { ...BOTH, resource: 'https://other.example' }, [401, 401]],
  ['no resource, which is no JWT', { scope: BOTH.scope }, [401, 401]],
] as const)('a token of oidc-provider with %s', async ([, request, statuses], { service, issuer }) => {
  const peer = await service.startPeer({ OIDC_ISSUER: issuer.url, OIDC_AUDIENCE: AUDIENCE })
  expect(await statusesOf(peer, await issuer.token(request))).toEqual(statuses)
})

test('a token of oidc-provider is 401 when it has expired', async ({ service, issuer }) => {
  let time = Date.now()
  const now = () => new Date(time)
  const peer = await service.startPeer({ OIDC_ISSUER: issuer.url, OIDC_AUDIENCE: AUDIENCE, now })
  const token = await issuer.token(BOTH)
  expect(await statusesOf(peer, token)).toEqual([200, 201])
  time += 7_200_000
  expect(await statusesOf(peer, token)).toEqual([401, 401])
})

test('a token with the next key of oidc-provider is accepted', async ({ service, issuer, onTestFinished }) => {
  const peer = await service.startPeer({ OIDC_ISSUER: issuer.url, OIDC_AUDIENCE: AUDIENCE })
  const statusOf = async (token: string) => (await peer.send('/v1/pets', { headers: bearer(token) })).status
  expect(await statusOf(await issuer.token(BOTH))).toBe(200)
  await issuer.rotateKey()
  const next = await issuer.token(BOTH)
  const nowMs = performance.now() + 10_001 // the cool-down of the service
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => nowMs)
  onTestFinished(() => clock.mockRestore())
  expect(await statusOf(next)).toBe(200)
})

test.for(Object.entries(liveClients))(
  '%s misses nothing when its token expires, with the next one',
  async ([, client], { service, issuer }) => {
    let time = Date.now()
    const now = () => new Date(time)
    const peer = await service.startPeer({ OIDC_ISSUER: issuer.url, OIDC_AUDIENCE: AUDIENCE, now, trusted })
    const first = openList(client, peer.base, await issuer.token(BOTH))
    await add(service, 'before')
    await waitUntil(() => first.names.length)
    time += 7_200_000
    await waitUntil(() => first.errors.length)
    expect(first.errors).toMatchObject([{ code: 'UNAUTHENTICATED' }])
    await add(service, 'between')
    time -= 7_200_000
    const next = openList(client, peer.base, await issuer.token(BOTH))
    await waitUntil(() => next.names.length === 2)
    await add(service, 'after')
    await waitUntil(() => next.names.length === 3)
    expect(next).toMatchObject({ names: ['after', 'between', 'before'], errors: [] })
  },
)
