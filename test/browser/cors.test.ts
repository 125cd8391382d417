import type { Page } from 'playwright-core'
import { describe, expect } from 'vitest'
import { testWithService as base } from '../support/harness.ts'
import { chromiumPath, launch, whySkipped } from './browser.ts'

describe.skipIf(!chromiumPath)(`a page of another origin${whySkipped}`, () => {
  /** A test with a page of the service, to which the test's other instances are other origins. It has no policy. */
  const test = base.extend<{ page: Page }>({
    page: async ({ service }, use) => {
      const browser = await launch()
      const page = await browser.newPage()
      await page.goto(`${service.base}/livez`)
      await use(page)
      await browser.close()
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

  test('reads and writes over both APIs, follows Link, revalidates by ETag, and reads errors', async ({
    page,
    service,
  }) => {
    const { base, key } = await service.startPeer({ CORS_ORIGINS: [service.base] })
    const auth = { Authorization: `Bearer ${key}`, 'X-Request-Id': 'page-1' }
    const json = { ...auth, 'Content-Type': 'application/json', 'Idempotency-Key': 'k' }
    const create = { method: 'POST', headers: json, body: '{"name":"Rex","categoryId":7}' }
    const created = await fetchIn(page, `${base}/v1/pets`, create)
    expect(created).toMatchObject({ status: 201, headers: { location: '/v1/pets/1', 'x-request-id': 'page-1' } })
    const replayed = await fetchIn(page, `${base}/v1/pets`, create)
    expect(replayed.headers['idempotent-replayed']).toBe('true')
    const mutation = JSON.stringify({ query: 'mutation { createPet(input: { name: "Tom", categoryId: "7" }) { id } }' })
    const ofClients = { traceparent: '00', 'GraphQL-Cost': 'include', 'Last-Event-ID': 'x' }
    const headers = { ...json, ...ofClients }
    const mutated = await fetchIn(page, `${base}/graphql`, { method: 'POST', headers, body: mutation })
    expect(JSON.parse(mutated.text)).toMatchObject({ data: { createPet: {} }, extensions: { cost: {} } })

    const first = await fetchIn(page, `${base}/v1/pets?limit=1`, { headers: auth })
    const next = new URL(/<([^>]+)>; rel="next"/.exec(first.headers['link'] ?? '')?.[1] ?? '', base)
    expect(JSON.parse((await fetchIn(page, next.href, { headers: auth })).text)).toMatchObject([{ id: 1 }])
    const conditional = { headers: { ...auth, 'If-None-Match': first.headers['etag'] ?? '' } }
    expect((await fetchIn(page, `${base}/v1/pets?limit=1`, conditional)).status).toBe(304)
    expect((await fetchIn(page, `${base}/v1/pets`)).status).toBe(401)
    expect((await fetchIn(page, `${base}/v1/pets`, { ...create, body: '{' })).status).toBe(400)
  })

  test('cannot call the service when its origin is not listed, nor send what only other APIs need', async ({
    page,
    service,
  }) => {
    const headers = { Authorization: `Bearer ${service.key}` }
    const failed = { status: 'TypeError: Failed to fetch' }
    const other = `http://localhost:${service.port}`
    const listed = await service.startPeer({ CORS_ORIGINS: [other] })
    const off = await service.startPeer()
    for (const { base } of [listed, off])
      expect(await fetchIn(page, `${base}/v1/pets`, { headers })).toMatchObject(failed)
    await page.goto(`${other}/livez`)
    expect((await fetchIn(page, `${listed.base}/v1/pets`, { headers })).status).toBe(200)
    for (const init of [{ method: 'DELETE' }, { headers: { ...headers, 'X-Other': '1' } }, { credentials: 'include' }])
      expect(await fetchIn(page, `${listed.base}/v1/pets`, { headers, ...(init as RequestInit) })).toMatchObject(failed)
  })
})
