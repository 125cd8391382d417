import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect } from 'vitest'
import { type TestService, testWithService } from '../support/harness.ts'
import { deviations } from './document.ts'

const PREFIX = '/shop'

/** A test with a service behind a reverse proxy that strips a prefix of the path. `proxied` is its base URL. */
const test = testWithService.extend<{ prefixed: TestService; proxied: string }>({
  prefixed: async ({ service }, use) => {
    const PRODUCTION_URL = `https://pets.example${PREFIX}/v1`
    await use(await service.startPeer({ PRODUCTION_URL, STAGING_URL: 'https://staging.example/v1' }))
  },
  proxied: async ({ prefixed }, use) => {
    const proxy = createServer((req, res) => {
      const { method, headers, url = '' } = req
      if (!url.startsWith(`${PREFIX}/`)) return void res.writeHead(404).end()
      const target = { port: prefixed.port, path: url.slice(PREFIX.length), method, headers }
      const forward = request(target, (response) => {
        res.writeHead(response.statusCode ?? 502, response.headers)
        response.pipe(res)
      })
      req.pipe(forward)
    })
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
    const { port } = proxy.address() as AddressInfo // a TCP server that listens has one
    await use(`http://127.0.0.1:${port}${PREFIX}/v1`)
    proxy.close()
    proxy.closeAllConnections()
  },
})

/** Sends a request through the proxy, and expects that the response conforms to the OpenAPI document. */
async function send({ key }: TestService, url: string, init: RequestInit = {}): Promise<Response> {
  const response = await fetch(url, { ...init, headers: { Authorization: `Bearer ${key}`, ...init.headers } })
  const path = url.slice(url.indexOf(PREFIX) + PREFIX.length)
  expect(deviations(init.method ?? 'GET', path, response, await response.clone().text())).toEqual([])
  return response
}

/** @returns the target of a link, resolved against the URL of the request (RFC 3986 §5) */
function linkTarget(response: Response, rel: string): string | undefined {
  const reference = new RegExp(`<([^>]*)>; rel="${rel}"`).exec(response.headers.get('link') ?? '')?.[1]
  return reference && new URL(reference, response.url).href
}

async function create(prefixed: TestService, url: string, n: number): Promise<Response> {
  const body = JSON.stringify({ name: `animal ${n}`, categoryId: n, status: 'sold' })
  return send(prefixed, url, { method: 'POST', body, headers: { 'Content-Type': 'application/json' } })
}

describe('behind a proxy that strips a path prefix', () => {
  test('Location is the URL of the new animal', async ({ prefixed, proxied }) => {
    const created = await create(prefixed, `${proxied}/pets`, 1)
    const location = new URL(created.headers.get('location') ?? '', `${proxied}/pets`).href
    expect(location).toBe(`${proxied}/pets/1`)
    expect(await (await send(prefixed, location)).json()).toEqual(await created.json())
  })

  test('next links traverse the whole list, and first is its first page', async ({ prefixed, proxied }) => {
    for (let n = 1; n <= 5; n++) await create(prefixed, `${proxied}/pets`, n)
    const seen: number[] = []
    let url: string | undefined = `${proxied}/pets?limit=2&status=sold`
    while (url) {
      const page: Response = await send(prefixed, url)
      seen.push(...((await page.json()) as { id: number }[]).map(({ id }) => id))
      expect(linkTarget(page, 'first')).toBe(`${proxied}/pets?limit=2&status=sold`)
      url = linkTarget(page, 'next')
    }
    expect(seen).toEqual([5, 4, 3, 2, 1])
  })

  test('successor-version of every getPet response is the URL of the list', async ({ prefixed, proxied }) => {
    await create(prefixed, `${proxied}/pets`, 1)
    for (const [path, status] of [
      ['/pets/1', 200],
      ['/pets/2', 404],
      ['/pets/a%2Fb', 404],
    ] as const) {
      const response = await send(prefixed, proxied + path)
      expect(response.status).toBe(status)
      expect(linkTarget(response, 'successor-version')).toBe(`${proxied}/pets`)
    }
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
