import { describe, expect } from 'vitest'
import { testWithSharedService, testWithService as test } from '../support/harness.ts'

const GRAPHQL = 'application/graphql-response+json'

describe('the status of a response', () => {
  test('is 294 for data with errors, if the client prefers the media type of GraphQL', async ({ service }) => {
    const partial = { query: '{ a: pet(id: 1) { id } __typename }' }
    const { status, statusText, headers } = await service.postGraphQL(partial, { Accept: GRAPHQL })
    expect([status, statusText, headers.get('content-type')]).toEqual([
      294,
      'Partial Success',
      `${GRAPHQL}; charset=utf-8`,
    ])
    const get = await service.send(`/graphql?query=${encodeURIComponent(partial.query)}`, {
      headers: { Accept: GRAPHQL },
    })
    expect([get.status, get.headers.get('etag')]).toEqual([294, null])
    for (const Accept of ['application/json', '*/*', `application/json, ${GRAPHQL};q=0.9`]) {
      const legacy = await service.postGraphQL(partial, { Accept })
      expect([legacy.status, legacy.headers.get('content-type')]).toEqual([200, 'application/json; charset=utf-8'])
    }
    await service.log.line({ code: 'NOT_FOUND', status: 294 })
    const metrics = await (await service.send('/metrics')).text()
    expect(metrics).toContain(
      'petstore_request_duration_seconds_count{route="/graphql",method="POST",operation="query",status="294"}',
    )
  })

  test('without data does not depend on what the client accepts', async ({ service }) => {
    for (const [body, status, code] of [
      [{ query: '{' }, 400, 'GRAPHQL_PARSE_FAILED'],
      [{ query: '{ none }' }, 422, 'GRAPHQL_VALIDATION_FAILED'],
      [{ variables: {} }, 422, 'INVALID_ARGUMENT'],
      ['[]', 422, 'INVALID_ARGUMENT'],
    ] as const) {
      for (const Accept of [
        'Application/JSON',
        GRAPHQL,
        '*/*',
        'text/event-stream, */*;q=0.1',
        'multipart/mixed;subscriptionSpec=1.0',
      ]) {
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
      [400, '', {}],
      [401, { query }, { Authorization: '' }],
      [406, { query }, { Accept: 'image/png' }],
      [413, ' '.repeat(70_000), {}],
      [415, query, { 'Content-Type': 'text/plain' }],
      [415, query, { 'Content-Type': 'text/plain', Accept: 'image/png,'.repeat(101) }], // disregarded: too long
    ] as const) {
      const response = await service.postGraphQL(body, { Accept: GRAPHQL, ...headers })
      expect([response.status, response.headers.get('content-type')]).toEqual([
        status,
        'application/json; charset=utf-8',
      ])
      expect(await response.json()).toMatchObject({ errors: [{ extensions: { status } }] })
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
