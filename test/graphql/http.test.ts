import { serverAudits } from 'graphql-http'
import { describe, expect } from 'vitest'
import { type TestService, testWithSharedService, testWithService as test } from '../support/harness.ts'

describe('the audits of graphql-http pass', () => {
  for (const { id, name } of serverAudits({ url: '' })) {
    testWithSharedService(`${id} ${name}`, async ({ service }) => {
      const authorized: typeof fetch = (input, init) =>
        fetch(input, { ...init, headers: { ...init?.headers, Authorization: `Bearer ${service.key}` } })
      const audits = serverAudits({ url: `${service.base}/graphql`, fetchFn: authorized })
      const result = await audits.find((audit) => audit.id === id)?.fn()
      expect(result).toMatchObject({ status: 'ok' })
    })
  }
})

const json = { 'Content-Type': 'application/json' }

async function request(service: TestService, init: RequestInit & { search?: string }) {
  const response = await service.send(`/graphql${init.search ?? ''}`, init)
  const text = await response.text()
  return { status: response.status, headers: response.headers, body: text ? JSON.parse(text) : undefined }
}

describe('invalid requests', () => {
  testWithSharedService(
    'are 200 for a client that accepts application/json, with the error’s own status in the body',
    async ({ service }) => {
      for (const text of ['{"query":"{pett{id}}"}', '{"query":"{"}', '{"query":"{__typename}","operationName":"B"}']) {
        const init = { method: 'POST', headers: { ...json, Accept: 'application/json' }, body: text }
        const { status, body } = await request(service, init)
        expect([status, body.errors[0].extensions.status], text).toEqual([200, 400])
        expect(body).not.toHaveProperty('data')
      }
    },
  )

  testWithSharedService('are 400 unless Accept names application/json itself', async ({ service }) => {
    for (const [Accept, expected] of [
      ['Application/JSON', 200],
      ['application/json;q=0.5, image/png', 200],
      ['application/json-seq, */*', 400],
      ['*/*', 400],
    ] as const) {
      const { status } = await request(service, { method: 'POST', headers: { ...json, Accept }, body: '{"query":"{"}' })
      expect(status, Accept).toBe(expected)
    }
  })
})

describe('errors before execution have the negotiated media type', () => {
  const both = 'application/graphql-response+json, application/json;q=0.9'
  test.for([
    { Accept: 'application/graphql-response+json', type: 'application/graphql-response+json' },
    { Accept: both, type: 'application/graphql-response+json' },
    { Accept: 'application/json', type: 'application/json' },
    { Accept: '*/*', type: 'application/json' },
    { Accept: 'image/png', type: 'application/json' },
  ])('Accept: $Accept', async ({ Accept, type }, { service }) => {
    for (const Authorization of ['', `Bearer ${service.key}`]) {
      const headers = { Authorization, Accept, 'Content-Type': 'text/plain' }
      const { status, headers: received } = await request(service, { method: 'POST', headers, body: '{__typename}' })
      expect(status).toBe(Authorization ? (Accept === 'image/png' ? 406 : 415) : 401)
      expect(received.get('content-type')).toBe(`${type}; charset=utf-8`)
    }
  })
})

describe('GET', () => {
  test('executes a query with variables', async ({ service }) => {
    await service.post({ name: 'x', categoryId: 9 })
    const search = `?${new URLSearchParams({ query: 'query Q($i:ID!){pet(id:$i){name}}', variables: '{"i":"1"}', operationName: 'Q' })}`
    expect((await request(service, { search })).body).toEqual({ data: { pet: { name: 'x' } } })
  })

  testWithSharedService('returns the GraphiQL page to a browser, without a key', async ({ service }) => {
    const response = await fetch(`${service.base}/graphql`, { headers: { Accept: 'text/html,*/*;q=0.8' } })
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
    const page = await response.text()
    expect(page).not.toMatch(/(src|href)="https?:/)
    expect(page).not.toMatch(/<script[^>]*>[^<]/) // no inline script
    expect(response.headers.get('content-security-policy')).toContain("; script-src 'self'; ") // and no other source
  })
})
