import { describe, expect } from 'vitest'
import { type TestService, testWithService } from '../support/harness.ts'

/** Where clients reach the service, behind a proxy that strips `/shop` from the path of a request. */
const EXTERNAL = 'https://pets.example/shop'

const test = testWithService.extend<{ prefixed: TestService }>({
  prefixed: async ({ service }, use) => {
    await use(await service.startPeer({ PRODUCTION_URL: `${EXTERNAL}/v1`, STAGING_URL: 'https://staging.example/v1' }))
  },
})

/** @returns where a client finds the target of a reference (RFC 3986 §5), as the path that the service gets */
function resolve(reference: string | null | undefined, requestPath: string): string | undefined {
  return reference ? new URL(reference, EXTERNAL + requestPath).href.replace(EXTERNAL, '') : undefined
}

function linkTarget(response: Response, rel: string, requestPath: string): string | undefined {
  const link = response.headers.get('link') ?? ''
  return resolve(new RegExp(`<([^>]*)>; rel="${rel}"`).exec(link)?.[1], requestPath)
}

const pet = { name: 'x', categoryId: 1, status: 'sold' }

describe('behind a proxy that strips a path prefix', () => {
  test('Location is the URL of the new animal, and successor-version that of the list', async ({ prefixed }) => {
    expect(resolve((await prefixed.post(pet)).headers.get('location'), '/v1/pets')).toBe('/v1/pets/1')
    for (const path of ['/v1/pets/1', '/v1/pets/a%2Fb'])
      expect(linkTarget(await prefixed.send(path), 'successor-version', path), path).toBe('/v1/pets')
  })

  test('the first server of the OpenAPI document is below the prefix, whose pages send the key there', async ({
    prefixed,
  }) => {
    const { servers } = (await (await prefixed.send('/openapi.json')).json()) as { servers: { url: string }[] }
    expect(resolve(servers[0]?.url ?? null, '/openapi.json')).toBe('/v1')
  })

  test('the next link leads to the next page, and first to the first one', async ({ prefixed }) => {
    for (let n = 1; n <= 3; n++) await prefixed.post(pet)
    const first = '/v1/pets?limit=1&status=sold'
    const next = linkTarget(await prefixed.send(first), 'next', first) ?? ''
    const page = await prefixed.send(next)
    expect(await page.json()).toMatchObject([{ id: 2 }])
    expect(linkTarget(page, 'first', next)).toBe(first)
  })
})

testWithService.for([
  {},
  { PRODUCTION_URL: 'https://pets.example/v1' },
  { PRODUCTION_URL: 'https://pets.example:8443/v1', STAGING_URL: 'https://staging.example/v1' },
])('references are absolute paths if no environment has a prefix: %j', async (urls, { service }) => {
  const { post, send } = await service.startPeer(urls)
  expect((await post({ name: 'x', categoryId: 1 })).headers.get('location')).toBe('/v1/pets/1')
  expect((await send('/v1/pets?limit=3')).headers.get('link')).toBe('</v1/pets?limit=3>; rel="first"')
  expect((await send('/v1/pets/1')).headers.get('link')).toBe('</v1/pets>; rel="successor-version"')
})
