import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect } from 'vitest'
import { readManifest } from '../../src/graphql/plugins/trusted-documents.ts'
import { testWithService as test, type TestService, type TestServiceOptions, withClient } from '../support/harness.ts'
import { waitUntil } from '../support/timeouts.ts'
import { toFormMessages } from './examples/errors.ts'
import { fill } from './fill.ts'
import { startProxy } from './proxy.ts'
import { type CreatePetStore, graphqlClients, restClients } from './stores.ts'

const here = fileURLToPath(new URL('.', import.meta.url))
const rex = { name: 'Rex', categoryId: '9223372036854775807' }

/** A client of a new instance of the service, behind a proxy that records requests. */
async function connect(create: CreatePetStore, service: TestService, options: TestServiceOptions = {}) {
  // Relay sends the hashes of its documents.
  const trusted = { mode: 'allow' as const, byHash: await readManifest(`${here}generated/relay.json`) }
  const peer = await service.startPeer({ trusted, ...options })
  const proxy = await startProxy(peer.base)
  return { proxy, store: create(proxy.base, service.key) }
}

/** The rate limits, with a budget of this number of points for each window of this length. */
const limits = (points: number, windowSeconds: number) => ({
  RATE_LIMIT_POINTS: points,
  limits: { rateLimitWindowS: windowSeconds },
})

describe.for(Object.entries({ ...graphqlClients, ...restClients }))('%s', ([name, create]) => {
  const isRest = name in restClients
  const createCost = isRest ? 1 : 10

  test('reads all pages: every animal once, newest first', async ({ service }) => {
    const names = await fill(service, 57)
    const { store, proxy } = await connect(create, service)
    expect(await store.readNames()).toEqual(names)
    expect(proxy.exchanges).toHaveLength(3)
    expect(await store.readNames('sold')).toEqual(names.filter((_, i) => i % 3 === 0))
  })

  test('sends and receives every digit of an int64', async ({ service }) => {
    const { store, proxy } = await connect(create, service)
    expect(await store.addPet(rex)).toMatchObject({ pet: { ...rex, id: '1' } })
    expect(await store.findPet('1')).toMatchObject({ pet: { ...rex, id: '1' } })
    const stored = await (await service.send('/v1/pets/1')).text()
    expect(stored).toBe('{"id":1,"name":"Rex","categoryId":9223372036854775807}')
    expect(proxy.creations[0]?.body).toContain(isRest ? ':9223372036854775807}' : ':"9223372036854775807"')
  })

  test('creates one animal when the response is lost: it repeats the request with the same key', async ({
    service,
  }) => {
    const { store, proxy } = await connect(create, service)
    proxy.loseNextCreation = true
    expect(await store.addPet(rex)).toMatchObject({ pet: { ...rex, id: '1' } })
    expect(await store.addPet(rex)).toMatchObject({ pet: rex }) // another animal, and so another key
    const [lost, repeated, other] = proxy.creations.map(({ idempotencyKey }) => idempotencyKey)
    expect(lost).toMatch(/^[\da-f-]{36}$/)
    expect([repeated === lost, other === lost, proxy.creations.length]).toEqual([true, false, 3])
    expect(await store.readNames()).toEqual(['Rex', 'Rex'])
  })

  test.for([
    { code: 'UNAVAILABLE', timeouts: { limits: { lockTimeoutMs: 200 } } },
    { code: 'DEADLINE_EXCEEDED', timeouts: { HANDLER_TIMEOUT_MS: 1_000 } },
  ])('creates one animal after $code, when the table is unlocked', async ({ code, timeouts }, { service }) => {
    const { store, proxy } = await connect(create, service, timeouts)
    await store.findPet('1') // caches the API key
    const added = await withClient(async (client) => {
      await client.query('BEGIN; LOCK TABLE animal IN ACCESS EXCLUSIVE MODE')
      const added = store.addPet(rex)
      await waitUntil(() => proxy.creations.length)
      await client.query('ROLLBACK')
      return added
    }, service.databaseUrl)
    expect(added).toMatchObject({ pet: rex })
    expect(proxy.creations[0]?.response.body).toContain(`"code":"${code}"`)
    expect(new Set(proxy.creations.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(1)
    expect(await store.readNames()).toEqual(['Rex'])
  })

  test('waits as long as Retry-After says', async ({ service }) => {
    const { store, proxy } = await connect(create, service, limits(createCost, 1))
    await store.addPet(rex)
    await waitUntil(async () => (await store.addPet(rex)).pet && proxy.exchanges.some(isLimited))
    const limited = proxy.exchanges.findIndex(isLimited)
    const [first, second] = proxy.exchanges.slice(limited)
    expect((second?.at ?? 0) - (first?.at ?? 0)).toBeGreaterThanOrEqual(1_000)
    expect(second?.idempotencyKey).toBe(first?.idempotencyKey)
  })

  test('reports RESOURCE_EXHAUSTED at once if Retry-After is longer than people wait', async ({ service }) => {
    const { store, proxy } = await connect(create, service, limits(2 * createCost, 3_600))
    await store.addPet(rex)
    await store.addPet(rex)
    const { error } = await store.addPet(rex)
    expect(error).toMatchObject({ code: 'RESOURCE_EXHAUSTED' })
    expect(error && toFormMessages(error)).toEqual({ form: 'Too many requests. Please wait a minute.' })
    expect(proxy.exchanges).toHaveLength(3)
  })

  test('reports UNAVAILABLE after four attempts', async ({ service }) => {
    const { store, proxy } = await connect(create, service, { limits: { lockTimeoutMs: 50 } })
    await store.findPet('1') // caches the API key
    const { error } = await withClient(async (client) => {
      await client.query('BEGIN; LOCK TABLE animal IN ACCESS EXCLUSIVE MODE')
      const result = await store.addPet(rex)
      await client.query('ROLLBACK')
      return result
    }, service.databaseUrl)
    expect(error).toMatchObject({ code: 'UNAVAILABLE' })
    expect(error && toFormMessages(error)).toEqual({ form: 'Nothing was saved. Please try again.' })
    expect(proxy.creations).toHaveLength(4)
  })

  test('reports NOT_FOUND and INVALID_ARGUMENT by code, without a retry', async ({ service }) => {
    const { store, proxy } = await connect(create, service)
    const { error: absent, pet } = await store.findPet('404')
    expect([absent?.code, pet ?? undefined]).toEqual(['NOT_FOUND', undefined])
    expect(absent && toFormMessages(absent)).toEqual({ form: 'There is no such animal.' })
    const { error: invalid } = await store.addPet({ name: ' ', categoryId: 'x' })
    expect(invalid).toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: expect.stringMatching(/name: .*; categoryId: /),
    })
    if (!isRest && invalid) {
      const name = expect.stringContaining('1 to 255 characters')
      expect(toFormMessages(invalid)).toEqual({ name, categoryId: expect.stringContaining('number') })
    }
    expect(proxy.exchanges).toHaveLength(2)
  })
})

const isLimited = ({ response }: { response: { status: number } }) => response.status === 429

test('Relay sends hashes of trusted documents only', async ({ service }) => {
  const trusted = { mode: 'only' as const, byHash: await readManifest(`${here}generated/relay.json`) }
  const { base } = await service.startPeer({ trusted })
  const store = graphqlClients['Relay']?.(base, service.key)
  expect(await store?.addPet(rex)).toMatchObject({ pet: rex })
  expect(await store?.readNames()).toEqual(['Rex'])
})

test("the generators read the service's own OpenAPI document", async ({ service }) => {
  const folder = await mkdtemp(join(tmpdir(), 'openapi-'))
  const file = join(folder, 'openapi.json')
  const script = `${here}examples/save-openapi.mjs`
  await promisify(execFile)(process.execPath, [script, `${service.base}/openapi.json`, file])
  const [own, generated] = await Promise.all(
    [file, `${here}generated/openapi.json`].map((path) => readFile(path, 'utf8')),
  )
  expect(withoutVersion(own)).toEqual(withoutVersion(generated))
  await rm(folder, { recursive: true })
})

function withoutVersion(json = ''): object {
  const document = JSON.parse(json) as { info: object } // an OpenAPI document
  return { ...document, info: { ...document.info, version: undefined } }
}
