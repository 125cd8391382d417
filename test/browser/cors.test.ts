import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Browser, Page } from 'playwright-core'
import { beforeAll, describe, expect } from 'vitest'
import { testWithService as base } from '../support/harness.ts'
import { chromiumPath, launch, whySkipped } from './browser.ts'

describe.skipIf(!chromiumPath)(`a page of another origin${whySkipped}`, () => {
  let browser: Browser
  beforeAll(async () => {
    browser = await launch()
    return () => browser.close()
  })

  const test = base.extend<{
    /** The port of a server of empty pages. */
    shop: number
    page: Page
  }>({
    // Vitest parses the fixture's source text, and requires a destructuring pattern as first parameter.
    // oxlint-disable-next-line no-empty-pattern
    shop: async ({}, use) => {
      const server = createServer((_req, res) => res.setHeader('Content-Type', 'text/html').end('<title>Shop</title>'))
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
      await use((server.address() as AddressInfo).port) // listens on TCP
      server.close()
    },
    page: async ({ service: _running, shop }, use) => {
      const page = await browser.newPage()
      await page.goto(`http://127.0.0.1:${shop}`)
      await use(page)
      await page.context().close()
    },
  })

  /** Calls fetch in the page. @returns what its script may read; the name of the error of a request that failed */
  function fetchIn(page: Page, url: string, init: RequestInit = {}) {
    return page.evaluate(
      async ([url, init]) => {
        try {
          const response = await fetch(url, init)
          const text = await response.text()
          return { status: response.status, headers: Object.fromEntries(response.headers), text }
        } catch (error) {
          return { status: String(error), headers: {} as Record<string, string>, text: '' } // no header is readable
        }
      },
      [url, init] as const,
    )
  }

  test('reads and writes over both APIs, follows Link, revalidates by ETag, and reads every error', async ({
    page,
    service,
    shop,
  }) => {
    const { base, key } = await service.startPeer({ CORS_ORIGINS: [`http://127.0.0.1:${shop}`] })
    const auth = { Authorization: `Bearer ${key}`, 'X-Request-Id': 'page-1' }
    const json = { ...auth, 'Content-Type': 'application/json', 'Idempotency-Key': 'k' }
    const body = '{"name":"Rex","categoryId":7}'
    const created = await fetchIn(page, `${base}/v1/pets`, { method: 'POST', headers: json, body })
    expect([created.status, created.headers['location'], created.headers['x-request-id']]).toEqual([
      201,
      '/v1/pets/1',
      'page-1',
    ])
    const replayed = await fetchIn(page, `${base}/v1/pets`, { method: 'POST', headers: json, body })
    expect(replayed.headers['idempotent-replayed']).toBe('true')
    const mutation = JSON.stringify({ query: 'mutation { createPet(input: { name: "Tom", categoryId: "7" }) { id } }' })
    const graphql = {
      method: 'POST',
      headers: { ...json, traceparent: '00', 'GraphQL-Cost': 'include', 'Last-Event-ID': 'x' },
    }
    const mutated = await fetchIn(page, `${base}/graphql`, { ...graphql, body: mutation })
    expect(JSON.parse(mutated.text)).toMatchObject({
      data: { createPet: { id: expect.any(String) } },
      extensions: { cost: {} },
    })
    const query = `${base}/graphql?query=${encodeURIComponent('{ pets { totalCount } }')}`
    const counted = await fetchIn(page, query, { headers: auth })
    expect(JSON.parse(counted.text)).toEqual({ data: { pets: { totalCount: 2 } } })

    const first = await fetchIn(page, `${base}/v1/pets?limit=1`, { headers: auth })
    const next = new URL(/<([^>]+)>; rel="next"/.exec(first.headers['link'] ?? '')?.[1] ?? '', base)
    expect(JSON.parse((await fetchIn(page, next.href, { headers: auth })).text)).toMatchObject([{ id: 1 }])

    for (const [url, etag] of [
      [`${base}/v1/pets?limit=1`, first.headers['etag']],
      [query, counted.headers['etag']],
    ] as const) {
      const again = await fetchIn(page, url, { headers: { ...auth, 'If-None-Match': etag ?? '' } })
      expect([url, again.status]).toEqual([url, 304])
    }
    expect((await fetchIn(page, `${base}/v1/pets`)).status).toBe(401)
    expect((await fetchIn(page, `${base}/v1/pets/404`, { headers: auth })).status).toBe(404)
    expect((await fetchIn(page, `${base}/v1/pets`, { method: 'POST', headers: json, body: '{' })).status).toBe(400)
  })

  test('cannot call the service when its origin is not listed, nor send what only other APIs need', async ({
    page,
    service,
    shop,
  }) => {
    const headers = { Authorization: `Bearer ${service.key}` }
    const failed = { status: 'TypeError: Failed to fetch' }
    const listed = await service.startPeer({ CORS_ORIGINS: [`http://localhost:${shop}`] })
    const off = await service.startPeer()
    for (const { base } of [listed, off])
      expect(await fetchIn(page, `${base}/v1/pets`, { headers })).toMatchObject(failed)
    await page.goto(`http://localhost:${shop}`)
    expect((await fetchIn(page, `${listed.base}/v1/pets`, { headers })).status).toBe(200)
    expect(await fetchIn(page, `${listed.base}/v1/pets`, { headers, method: 'DELETE' })).toMatchObject(failed)
    expect(await fetchIn(page, `${listed.base}/v1/pets`, { headers: { ...headers, 'X-Other': '1' } })).toMatchObject(
      failed,
    )
    expect(await fetchIn(page, `${listed.base}/v1/pets`, { headers, credentials: 'include' })).toMatchObject(failed)
  })
})
