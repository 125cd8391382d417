import { serverAudits } from 'graphql-http'
import { describe, expect } from 'vitest'
import { testWithSharedService, testWithService as test } from '../support/harness.ts'

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

testWithSharedService.for([
  ['Application/JSON', 200],
  ['application/json;q=0.5, image/png', 200],
  ['application/json-seq, */*', 400],
  ['*/*', 400],
] as const)(
  'an invalid request is 400, but 200 if Accept names application/json itself: %s is %i',
  async ([Accept, expected], { service }) => {
    const response = await service.postGraphQL({ query: '{' }, { Accept })
    expect(response.status).toBe(expected)
    expect(await response.json()).toEqual({
      errors: [expect.objectContaining({ extensions: { code: 'GRAPHQL_PARSE_FAILED', status: 400 } })],
    })
  },
)

describe('errors before execution have the negotiated media type', () => {
  const both = 'application/graphql-response+json, application/json;q=0.9'
  test.for([
    { Accept: 'application/graphql-response+json', type: 'application/graphql-response+json' },
    { Accept: both, type: 'application/graphql-response+json' },
    { Accept: 'application/json', type: 'application/json' },
    { Accept: '*/*', type: 'application/json' },
    { Accept: 'image/png', type: 'application/json' },
    { Accept: 'image/png,'.repeat(101), type: 'application/json' }, // disregarded: too long
  ])('Accept: $Accept', async ({ Accept, type }, { service }) => {
    for (const Authorization of ['', `Bearer ${service.key}`]) {
      const headers = { Authorization, Accept, 'Content-Type': 'text/plain' }
      const { status, headers: received } = await service.postGraphQL('{__typename}', headers)
      expect(status).toBe(Authorization ? (Accept === 'image/png' ? 406 : 415) : 401)
      expect(received.get('content-type')).toBe(`${type}; charset=utf-8`)
    }
  })
})

testWithSharedService('GET returns the GraphiQL page to a browser, without a key', async ({ service }) => {
  const response = await fetch(`${service.base}/graphql`, { headers: { Accept: 'text/html,*/*;q=0.8' } })
  expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
  const page = await response.text()
  expect(page).not.toMatch(/(src|href)="https?:/)
  expect(page).not.toMatch(/<script[^>]*>[^<]/) // no inline script
  expect(response.headers.get('content-security-policy')).toContain("; script-src 'self'; ") // and no other source
})
