import { describe, expect } from 'vitest'
import { bearer } from '../support/harness.ts'
import { chromiumPath, testInBrowser as test, whySkipped } from './browser.ts'

describe.skipIf(!chromiumPath)(`a page of another origin${whySkipped}`, () => {
  test('reads and writes over both APIs, pages, revalidates, and reads errors', async ({ page, service, problems }) => {
    await page.goto(`${service.base}/livez`) // a page without a policy, to which the peer is another origin
    /** Calls fetch in the page. @returns what its script may read */
    const fetchIn = (url: string, init: RequestInit = {}) =>
      page.evaluate(
        async ([url, init]) => {
          const response = await fetch(url, init)
          const text = await response.text()
          return { status: response.status, headers: Object.fromEntries(response.headers), text }
        },
        [url, init] as const,
      )
    const { base, key } = await service.startPeer({ CORS_ORIGINS: [service.base] })
    const auth = { ...bearer(key), 'X-Request-Id': 'page-1' }
    const json = { ...auth, 'Content-Type': 'application/json', 'Idempotency-Key': 'k' }
    const create = { method: 'POST', headers: json, body: '{"name":"Rex","categoryId":7}' }
    const created = await fetchIn(`${base}/v1/pets`, create)
    expect(created).toMatchObject({ status: 201, headers: { location: '/v1/pets/1', 'x-request-id': 'page-1' } })
    expect((await fetchIn(`${base}/v1/pets`, create)).headers['idempotent-replayed']).toBe('true')
    const mutation = JSON.stringify({ query: 'mutation { createPet(input: { name: "Tom", categoryId: "7" }) { id } }' })
    const headers = { ...json, traceparent: '00', 'GraphQL-Cost': 'include', 'Last-Event-ID': 'x' }
    const mutated = await fetchIn(`${base}/graphql`, { method: 'POST', headers, body: mutation })
    expect(JSON.parse(mutated.text)).toMatchObject({ data: { createPet: {} }, extensions: { cost: {} } })

    const first = await fetchIn(`${base}/v1/pets?limit=1`, { headers: auth })
    const next = new URL(/<([^>]+)>; rel="next"/.exec(first.headers['link'] ?? '')?.[1] ?? '', base)
    expect(JSON.parse((await fetchIn(next.href, { headers: auth })).text)).toMatchObject([{ id: 1 }])
    const conditional = { headers: { ...auth, 'If-None-Match': first.headers['etag'] ?? '' } }
    expect((await fetchIn(`${base}/v1/pets?limit=1`, conditional)).status).toBe(304)
    expect((await fetchIn(`${base}/v1/pets`)).status).toBe(401)
    expect((await fetchIn(`${base}/v1/pets`, { ...create, body: '{' })).status).toBe(400)
    problems.length = 0 // requests to another origin, and the errors
  })
})
