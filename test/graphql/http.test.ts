import { serverAudits } from 'graphql-http'
import { describe, expect } from 'vitest'
import { type TestService, testWithSharedService, testWithService as test } from '../support/harness.ts'

describe('the audits of graphql-http', () => {
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

describe('requests that are no GraphQL', () => {
  const cases: [string, RequestInit & { search?: string }, number, string][] = [
    ['PUT', { method: 'PUT' }, 405, 'METHOD_NOT_ALLOWED'],
    [
      'a mutation by GET',
      { search: '?query=mutation{createPet(input:{name:"x",categoryId:1}){id}}' },
      405,
      'METHOD_NOT_ALLOWED',
    ],
    ['a form', { method: 'POST', body: new URLSearchParams({ query: '{__typename}' }) }, 415, 'UNSUPPORTED_MEDIA_TYPE'],
    ['multipart', { method: 'POST', body: new FormData() }, 415, 'UNSUPPORTED_MEDIA_TYPE'],
    ['text/plain', { method: 'POST', body: '{__typename}' }, 415, 'UNSUPPORTED_MEDIA_TYPE'],
    [
      'application/graphql',
      { method: 'POST', headers: { 'Content-Type': 'application/graphql' }, body: '{__typename}' },
      415,
      'UNSUPPORTED_MEDIA_TYPE',
    ],
    ['a batch', { method: 'POST', headers: json, body: '[{"query":"{__typename}"}]' }, 400, 'INVALID_ARGUMENT'],
    ['no query', { method: 'POST', headers: json, body: '{}' }, 400, 'INVALID_ARGUMENT'],
    ['broken variables by GET', { search: '?query={__typename}&variables={' }, 400, 'INVALID_ARGUMENT'],
    ['variables of no object by GET', { search: '?query={__typename}&variables=[]' }, 400, 'INVALID_ARGUMENT'],
    ['two queries by GET', { search: '?query={__typename}&query={__typename}' }, 400, 'INVALID_ARGUMENT'],
    [
      'an unknown operation',
      { method: 'POST', headers: json, body: '{"query":"query A{__typename}","operationName":"B"}' },
      400,
      'INVALID_ARGUMENT',
    ],
    [
      'invalid UTF-8',
      { method: 'POST', headers: json, body: Buffer.from('{"query":"{pet(id:\\"\xff\\"){id}}"}', 'latin1') },
      400,
      'INVALID_ARGUMENT',
    ],
    [
      'over 64 KiB',
      { method: 'POST', headers: json, body: JSON.stringify({ query: '#'.repeat(65_536) }) },
      413,
      'PAYLOAD_TOO_LARGE',
    ],
    [
      'another Accept',
      { method: 'POST', headers: { ...json, Accept: 'image/png' }, body: '{"query":"{__typename}"}' },
      406,
      'NOT_ACCEPTABLE',
    ],
    ['a typo', { method: 'POST', headers: json, body: '{"query":"{pett{id}}"}' }, 400, 'GRAPHQL_VALIDATION_FAILED'],
    ['no document', { method: 'POST', headers: json, body: '{"query":"{"}' }, 400, 'GRAPHQL_PARSE_FAILED'],
    [
      'more than 2,000 tokens',
      { method: 'POST', headers: json, body: JSON.stringify({ query: `{${'a '.repeat(2_001)}}` }) },
      400,
      'GRAPHQL_PARSE_FAILED',
    ],
  ]
  for (const [title, init, status, code] of cases) {
    testWithSharedService(`${title}: ${status} ${code}`, async ({ service }) => {
      const { body, ...answer } = await request(service, init)
      expect(answer.status).toBe(status)
      expect(body.errors[0]).toMatchObject({ message: expect.stringMatching(/\S/), extensions: { code, status } })
      expect(body).not.toHaveProperty('data')
    })
  }

  testWithSharedService(
    'of the request are 200 for a client that names application/json, also for an operation that is not there',
    async ({ service }) => {
      for (const wrong of ['{"query":"{pett{id}}"}', '{"query":"{"}', '{"query":"{__typename}","operationName":"B"}']) {
        const init = { method: 'POST', headers: { ...json, Accept: 'application/json' }, body: wrong }
        const { status, body } = await request(service, init)
        expect([status, body.errors[0].extensions.status], wrong).toEqual([200, 400])
        expect(body).not.toHaveProperty('data')
      }
    },
  )

  testWithSharedService('405 says what is allowed', async ({ service }) => {
    expect((await request(service, { method: 'DELETE' })).headers.get('allow')).toBe('GET, HEAD, POST, OPTIONS')
    const mutation = await request(service, { search: '?query=mutation{createPet(input:{name:"x",categoryId:1}){id}}' })
    expect(mutation.headers.get('allow')).toBe('POST')
  })

  testWithSharedService('no error suggests what the schema has', async ({ service }) => {
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

describe('an error before the document is run has the media type of any other answer', () => {
  const both = 'application/graphql-response+json, application/json;q=0.9'
  const accepts: [string, string][] = [
    ['application/graphql-response+json', 'application/graphql-response+json'],
    [both, 'application/graphql-response+json'],
    ['application/json', 'application/json'],
    ['*/*', 'application/json'],
    ['image/png', 'application/json'],
  ]
  test.for(accepts)('Accept: %s', async ([Accept, type], { service }) => {
    for (const Authorization of ['', `Bearer ${service.key}`]) {
      const headers = { Authorization, Accept, 'Content-Type': 'text/plain' }
      const { status, headers: answered } = await request(service, { method: 'POST', headers, body: '{__typename}' })
      expect(status).toBe(Authorization ? (Accept === 'image/png' ? 406 : 415) : 401)
      expect(answered.get('content-type')).toBe(`${type}; charset=utf-8`)
    }
  })
})

describe('GET', () => {
  test('answers a query with its variables', async ({ service }) => {
    await service.post({ name: 'x', categoryId: 9 })
    const search = `?${new URLSearchParams({ query: 'query Q($i:ID!){pet(id:$i){name}}', variables: '{"i":"1"}', operationName: 'Q' })}`
    expect((await request(service, { search })).body).toEqual({ data: { pet: { name: 'x' } } })
  })

  testWithSharedService('gives a browser the GraphiQL page, without a key', async ({ service }) => {
    const response = await fetch(`${service.base}/graphql`, { headers: { Accept: 'text/html,*/*;q=0.8' } })
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
    const page = await response.text()
    expect(page).not.toMatch(/(src|href)="https?:/)
    expect(page).not.toMatch(/<script[^>]*>[^<]/) // inline
    expect(response.headers.get('content-security-policy')).toContain("; script-src 'self'; ") // and nothing else
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
    '%s is exact',
    async (literal, { service }) => {
      const { body } = await post(service, literal)
      expect(body).toEqual({ data: { createPet: { categoryId: literal.replaceAll('"', '') } } })
    },
  )

  const refused = [
    '9007199254740992',
    '9007199254740993',
    '-9007199254740992',
    '1.5',
    '4503599627370496.25',
    '1e400',
    '1e30',
  ]
  test.for(refused)('%s as a number is refused, never rounded', async (literal, { service }) => {
    const { body } = await post(service, literal)
    expect(body.errors[0].extensions).toEqual({ code: 'INVALID_ARGUMENT', status: 400 })
    expect((await service.graphql('{ pets { totalCount } }')).data).toEqual({ pets: { totalCount: 0 } })
  })

  testWithSharedService('in the document itself any int64 is exact', async ({ service }) => {
    const inline = 'mutation { createPet(input: { name: "x", categoryId: -9223372036854775808 }) { categoryId } }'
    expect((await service.graphql(inline)).data).toEqual({ createPet: { categoryId: '-9223372036854775808' } })
  })
})
