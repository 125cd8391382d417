import { expect } from 'vitest'
import { testWithSharedService as test } from '../support/harness.ts'

/** Where clients reach the service, behind a proxy that strips `/shop` from the path of a request. */
const EXTERNAL = 'https://pets.example/shop'

/** @returns where a client finds the target of a reference (RFC 3986 §5), as the path that the service gets */
function resolve(reference: string | null | undefined, requestPath: string): string | undefined {
  return reference ? new URL(reference, EXTERNAL + requestPath).href.replace(EXTERNAL, '') : undefined
}

function linkTarget(response: Response, rel: string, requestPath: string): string | undefined {
  const link = response.headers.get('link') ?? ''
  return resolve(new RegExp(`<([^>]*)>; rel="${rel}"`).exec(link)?.[1], requestPath)
}

test('behind a proxy that strips a path prefix, every reference leads to what it names', async ({ service }) => {
  const urls = { PRODUCTION_URL: `${EXTERNAL}/v1`, STAGING_URL: 'https://staging.example/v1' }
  const { create, post, send } = await service.startPeer(urls)
  const [, second] = [await create({ status: 'sold' }), await create({ status: 'sold' })]
  const created = await post({ name: 'x', categoryId: 1, status: 'sold' })
  const path = `/v1/pets/${((await created.json()) as { id: number }).id}`
  expect(resolve(created.headers.get('location'), '/v1/pets')).toBe(path)
  for (const one of [path, '/v1/pets/a%2Fb'])
    expect(linkTarget(await send(one), 'successor-version', one), one).toBe('/v1/pets')

  const first = '/v1/pets?limit=1&status=sold'
  const next = linkTarget(await send(first), 'next', first) ?? ''
  const page = await send(next)
  expect(await page.json()).toMatchObject([{ id: second }])
  expect(linkTarget(page, 'first', next)).toBe(first)

  // The pages of the document send the key to this server.
  const { servers } = (await (await send('/openapi.json')).json()) as { servers: { url: string }[] }
  expect(resolve(servers[0]?.url, '/openapi.json')).toBe('/v1')
})

test('references are absolute paths if no environment has a prefix', async ({ service }) => {
  const urls = { PRODUCTION_URL: 'https://pets.example:8443/v1', STAGING_URL: 'https://staging.example/v1' }
  const { post, send } = await service.startPeer(urls)
  const created = await post({ name: 'x', categoryId: 1 })
  const path = created.headers.get('location') ?? ''
  expect(path).toMatch(/^\/v1\/pets\/\d+$/)
  expect((await send('/v1/pets?limit=100')).headers.get('link')).toBe('</v1/pets?limit=100>; rel="first"')
  expect((await send(path)).headers.get('link')).toBe('</v1/pets>; rel="successor-version"')
})
