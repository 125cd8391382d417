import { serverAudits } from 'graphql-http'
import { describe, expect } from 'vitest'
import { bearer, testWithSharedService as test } from '../support/harness.ts'

const GRAPHQL = 'application/graphql-response+json'

/** Sentences of GraphQL over HTTP, edition September 2026, section Status Codes. The audits follow drafts before it. */
const NOT_WELL_FORMED = 'If the request is not a well-formed GraphQL-over-HTTP request, status code 422 SHOULD be used.'
const WITHOUT_DATA =
  'If the GraphQL response does not contain the {data} entry then the server MUST reply with an appropriate 4xx or 5xx status code.'
const NOT_COERCED =
  "If the variable values cannot be coerced to match the operation's variable definitions, status code 422 SHOULD be used."

const NOT_WELL_FORMED_AUDITS = ['LKJ', '6C0', '476', '58B'].flatMap((id) => [0, 1, 2, 3].map((n) => id + n))

/** The audits that contradict the edition, by id, with the sentence that they contradict. */
const CONTRADICTED: Record<string, string> = {
  ...Object.fromEntries(NOT_WELL_FORMED_AUDITS.map((id) => [id, NOT_WELL_FORMED])),
  '423L': NOT_WELL_FORMED,
  '3E3A': NOT_WELL_FORMED,
  '572B': WITHOUT_DATA,
  FDE2: WITHOUT_DATA,
  '7B9B': WITHOUT_DATA,
  '86EE': NOT_COERCED,
}

describe('the audits of graphql-http pass, unless they contradict the edition', () => {
  for (const { id, name } of serverAudits({ url: '' })) {
    const sentence = CONTRADICTED[id]
    test(sentence ? `not ${id} ${name}: ${sentence}` : `${id} ${name}`, async ({ service }) => {
      const authorized: typeof fetch = (input, init) =>
        fetch(input, { ...init, headers: { ...init?.headers, ...bearer(service.key) } })
      const audits = serverAudits({ url: `${service.base}/graphql`, fetchFn: authorized })
      const result = await audits.find((audit) => audit.id === id)?.fn()
      expect(result?.status === 'ok').toBe(!sentence)
    })
  }
})

describe('the status of a response', () => {
  test('is 294 for data with errors, if the client prefers the media type of GraphQL', async ({ service }) => {
    const partial = { query: '{ a: pet(id: 1) { id } __typename }' }
    const { status, statusText, headers } = await service.postGraphQL(partial, { Accept: GRAPHQL })
    expect([status, statusText]).toEqual([294, 'Partial Success'])
    expect(headers.get('content-type')).toBe(`${GRAPHQL}; charset=utf-8`)
    for (const Accept of ['application/json', '*/*', `application/json, ${GRAPHQL};q=0.9`]) {
      const legacy = await service.postGraphQL(partial, { Accept })
      expect([legacy.status, legacy.headers.get('content-type')]).toEqual([200, 'application/json; charset=utf-8'])
    }
    await service.log.line({ code: 'NOT_FOUND', status: 294 })
  })

  test('without data does not depend on what the client accepts', async ({ service }) => {
    const accepts = ['*/*', 'text/event-stream, */*;q=0.1', 'multipart/mixed;subscriptionSpec=1.0']
    for (const [body, status, code] of [
      [{ query: '{' }, 400, 'GRAPHQL_PARSE_FAILED'],
      [{ query: '{ none }' }, 422, 'GRAPHQL_VALIDATION_FAILED'],
      [{ variables: {} }, 422, 'INVALID_ARGUMENT'],
    ] as const) {
      for (const Accept of accepts) {
        const response = await service.postGraphQL(body, { Accept })
        expect([response.status, response.headers.get('content-type')]).toEqual([status, `${GRAPHQL}; charset=utf-8`])
        expect(await response.json()).toMatchObject({ errors: [{ extensions: { code, status: 400 } }] })
      }
    }
  })

  test('is that of HTTP, as application/json, if the request was not read', async ({ service }) => {
    const query = '{ __typename }'
    for (const [status, body, headers] of [
      [400, '{', {}],
      [401, { query }, { Authorization: '' }],
      [406, { query }, { Accept: 'image/png' }],
      [413, ' '.repeat(70_000), {}],
      [415, query, { 'Content-Type': 'text/plain' }],
      [415, query, { 'Content-Type': 'text/plain', Accept: 'image/png,'.repeat(101) }], // disregarded: too long
    ] as const) {
      const response = await service.postGraphQL(body, { Accept: GRAPHQL, ...headers })
      const type = response.headers.get('content-type')
      expect([response.status, type]).toEqual([status, 'application/json; charset=utf-8'])
      expect(await response.json()).toMatchObject({ errors: [{ extensions: { status } }] })
    }
  })
})

test('GET returns the GraphiQL page to a browser, without a key', async ({ service }) => {
  const response = await fetch(`${service.base}/graphql`, { headers: { Accept: 'text/html,*/*;q=0.8' } })
  expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
  const page = await response.text()
  expect(page).not.toMatch(/(src|href)="https?:/)
  expect(page).not.toMatch(/<script[^>]*>[^<]/) // no inline script
  expect(response.headers.get('content-security-policy')).toContain("; script-src 'self'; ") // and no other source
})
