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
  const post = (body: BodyInit, headers: Record<string, string> = json) => ({ method: 'POST', headers, body })
  const cases: { title: string; init: RequestInit & { search?: string }; status: number; code: string }[] = [
    { title: 'PUT', init: { method: 'PUT' }, status: 405, code: 'METHOD_NOT_ALLOWED' },
    {
      title: 'a mutation by GET',
      init: { search: '?query=mutation{createPet(input:{name:"x",categoryId:1}){id}}' },
      status: 405,
      code: 'METHOD_NOT_ALLOWED',
    },
    {
      title: 'a form',
      init: { method: 'POST', body: new URLSearchParams({ query: '{__typename}' }) },
      status: 415,
      code: 'UNSUPPORTED_MEDIA_TYPE',
    },
    {
      title: 'multipart',
      init: { method: 'POST', body: new FormData() },
      status: 415,
      code: 'UNSUPPORTED_MEDIA_TYPE',
    },
    { title: 'text/plain', init: post('{__typename}', {}), status: 415, code: 'UNSUPPORTED_MEDIA_TYPE' },
    {
      title: 'application/graphql',
      init: post('{__typename}', { 'Content-Type': 'application/graphql' }),
      status: 415,
      code: 'UNSUPPORTED_MEDIA_TYPE',
    },
    { title: 'a batch', init: post('[{"query":"{__typename}"}]'), status: 400, code: 'INVALID_ARGUMENT' },
    { title: 'no query', init: post('{}'), status: 400, code: 'INVALID_ARGUMENT' },
    {
      title: 'malformed variables by GET',
      init: { search: '?query={__typename}&variables={' },
      status: 400,
      code: 'INVALID_ARGUMENT',
    },
    {
      title: 'variables that are a list by GET',
      init: { search: '?query={__typename}&variables=[]' },
      status: 400,
      code: 'INVALID_ARGUMENT',
    },
    {
      title: 'two queries by GET',
      init: { search: '?query={__typename}&query={__typename}' },
      status: 400,
      code: 'INVALID_ARGUMENT',
    },
    {
      title: 'an unknown operationName',
      init: post('{"query":"query A{__typename}","operationName":"B"}'),
      status: 400,
      code: 'INVALID_ARGUMENT',
    },
    {
      title: 'invalid UTF-8',
      init: post(Buffer.from('{"query":"{pet(id:\\"\xff\\"){id}}"}', 'latin1')),
      status: 400,
      code: 'INVALID_ARGUMENT',
    },
    {
      title: 'a body over 64 KiB',
      init: post(JSON.stringify({ query: '#'.repeat(65_536) })),
      status: 413,
      code: 'PAYLOAD_TOO_LARGE',
    },
    {
      title: 'Accept: image/png',
      init: post('{"query":"{__typename}"}', { ...json, Accept: 'image/png' }),
      status: 406,
      code: 'NOT_ACCEPTABLE',
    },
    { title: 'an unknown field', init: post('{"query":"{pett{id}}"}'), status: 400, code: 'GRAPHQL_VALIDATION_FAILED' },
    { title: 'a syntax error', init: post('{"query":"{"}'), status: 400, code: 'GRAPHQL_PARSE_FAILED' },
    {
      title: 'more than 2,000 tokens',
      init: post(JSON.stringify({ query: `{${'a '.repeat(2_001)}}` })),
      status: 400,
      code: 'GRAPHQL_PARSE_FAILED',
    },
  ]
  for (const { title, init, status, code } of cases) {
    testWithSharedService(`${title} is ${status} ${code}`, async ({ service }) => {
      const { body, ...response } = await request(service, init)
      expect(response.status).toBe(status)
      expect(body.errors[0]).toMatchObject({ message: expect.stringMatching(/\S/), extensions: { code, status } })
      expect(body).not.toHaveProperty('data')
    })
  }

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

  testWithSharedService('405 responses have the Allow header', async ({ service }) => {
    expect((await request(service, { method: 'DELETE' })).headers.get('allow')).toBe('GET, HEAD, POST, OPTIONS')
    const mutation = await request(service, { search: '?query=mutation{createPet(input:{name:"x",categoryId:1}){id}}' })
    expect(mutation.headers.get('allow')).toBe('POST')
  })

  testWithSharedService('errors contain no suggestions from the schema', async ({ service }) => {
    for (const query of [
      '{pet{id}}',
      '{petss{id}}',
      '{pets(statuss:sold){totalCount}}',
      '{pets(status:sol){totalCount}}',
    ]) {
      expect(JSON.stringify(await service.graphql(query))).not.toContain('Did you mean')
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

describe('integers in variables', () => {
  const query = 'mutation ($c: ID!) { createPet(input: { name: "x", categoryId: $c }) { categoryId } }'
  const post = (service: TestService, literal: string) =>
    request(service, {
      method: 'POST',
      headers: json,
      body: `{"query":${JSON.stringify(query)},"variables":{"c":${literal}}}`,
    })

  testWithSharedService.for(['0', '-1', '9007199254740991', '"9223372036854775807"'])(
    '%s is stored without rounding',
    async (literal, { service }) => {
      const { body } = await post(service, literal)
      expect(body).toEqual({ data: { createPet: { categoryId: literal.replaceAll('"', '') } } })
    },
  )

  const unsafeNumbers = [
    '9007199254740992',
    '9007199254740993',
    '-9007199254740992',
    '1.5',
    '4503599627370496.25',
    '1e400',
    '1e30',
  ]
  test.for(unsafeNumbers)('%s as a number is rejected, not rounded', async (literal, { service }) => {
    const { body } = await post(service, literal)
    expect(body.errors[0].extensions).toMatchObject({ code: 'INVALID_ARGUMENT', status: 400 })
    expect((await service.graphql('{ pets { totalCount } }')).data).toEqual({ pets: { totalCount: 0 } })
  })

  testWithSharedService('any int64 literal in a document is stored without rounding', async ({ service }) => {
    const inline = 'mutation { createPet(input: { name: "x", categoryId: -9223372036854775808 }) { categoryId } }'
    expect((await service.graphql(inline)).data).toEqual({ createPet: { categoryId: '-9223372036854775808' } })
  })
})
