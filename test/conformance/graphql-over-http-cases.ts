import { deepStrictEqual, ok, strictEqual } from 'node:assert/strict'

/** A server to test. */
export interface Target {
  url: string
  /** Headers of every request, such as Authorization. */
  headers: Record<string, string>
  /** A query of the server's schema whose result has data and errors. */
  partial?: string | undefined
}

/** Sends a request. @throws Error if the response is not what the sentence says, SkipError if it says nothing there */
type Run = (target: Target) => Promise<void>

/** A sentence of GraphQL over HTTP, edition September 2026, and requests that show whether a server follows it. */
export interface Sentence {
  level: 'MUST' | 'SHOULD'
  /** In the words of the edition, without its markup. */
  sentence: string
  /** By what is sent. */
  requests: Record<string, Run>
}

/** The request does not apply to the server, or needs more than its URL. */
export class SkipError extends Error {}

interface Received {
  status: number
  headers: Headers
  /** Without parameters. */
  type: string
  /** Undefined if the body is no JSON. */
  json: unknown
}

type Headings = Record<string, string>

const GRAPHQL = 'application/graphql-response+json'
const LEGACY = 'application/json'
const QUERY = '{ __typename }'
const INVALID = '{ fieldThatNoSchemaHas }'

async function send({ url, headers }: Target, parameters: string, init: RequestInit): Promise<Received> {
  const sent = { Accept: GRAPHQL, ...headers, ...(init.headers as Headings | undefined) }
  const response = await fetch(url + parameters, { ...init, headers: sent, signal: AbortSignal.timeout(10_000) })
  const text = await response.text()
  const type = response.headers.get('content-type')?.split(';')[0]?.trim() ?? ''
  return { status: response.status, headers: response.headers, type, json: parse(text) }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** @param body text is sent unchanged */
function post(target: Target, body: unknown, headers: Headings = {}): Promise<Received> {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  return send(target, '', { method: 'POST', headers: { 'Content-Type': 'application/json', ...headers }, body: text })
}

/** @throws SkipError if the server takes no GET */
async function get(target: Target, parameters: Record<string, string>): Promise<Received> {
  const request = (values: Record<string, string>) => send(target, `?${new URLSearchParams(values)}`, { method: 'GET' })
  const { status } = await request({ query: QUERY })
  if (status !== 200) throw new SkipError(`the server MAY accept GET, and responds ${status}`)
  return request(parameters)
}

function expectStatus({ status, json }: Received, ...expected: number[]): void {
  ok(expected.includes(status), `status ${status} instead of ${expected.join(' or ')}: ${brief(json)}`)
}

function expectType({ type, json }: Received, expected: string): void {
  strictEqual(type, expected, `${type || 'no media type'} instead of ${expected}: ${brief(json)}`)
}

function expectClientError({ status, json }: Received): void {
  ok(status >= 400 && status < 500, `status ${status} instead of 4xx: ${brief(json)}`)
}

const brief = (json: unknown) => (json === undefined ? 'the body is no JSON' : JSON.stringify(json).slice(0, 150))

/** The result of QUERY. */
function expectData(response: Received): void {
  expectStatus(response, 200)
  const { data } = response.json as { data?: { __typename?: unknown } }
  strictEqual(typeof data?.__typename, 'string', `no data: ${brief(response.json)}`)
}

/** A response without data, with at least one error. */
function expectRequestError({ json }: Received): void {
  const { errors, data } = (json ?? {}) as { errors?: { message: unknown }[]; data?: unknown }
  ok(Array.isArray(errors) && errors.length > 0, `no errors: ${brief(json)}`)
  ok(
    errors.every(({ message }) => typeof message === 'string'),
    `an error without a message: ${brief(json)}`,
  )
  strictEqual(data, undefined, `data beside a request error: ${brief(json)}`)
}

/** A request error with a status, in the media type of GraphQL. */
function expectGraphQLError(response: Received, status: number): void {
  expectStatus(response, status)
  expectType(response, GRAPHQL)
  expectRequestError(response)
}

function partialOf({ partial }: Target): { query: string } {
  if (!partial) throw new SkipError('needs a query whose result has data and errors')
  return { query: partial }
}

const conform = (level: Sentence['level'], sentence: string, requests: Record<string, Run>): Sentence => ({
  level,
  sentence,
  requests,
})

/** @param bodies are sent by POST */
const rejects = (sentence: string, status: number, bodies: unknown[]): Sentence =>
  conform(
    'SHOULD',
    sentence,
    Object.fromEntries(
      bodies.map((body) => [
        typeof body === 'string' ? `the body ${JSON.stringify(body)}` : JSON.stringify(body),
        async (target: Target) => expectStatus(await post(target, body), status),
      ]),
    ),
  )

const TWO_OPERATIONS = 'query A { __typename } query B { __typename }'
const WITH_VARIABLE = 'query ($b: Boolean!) { __typename @include(if: $b) }'

const NOT_WELL_FORMED = [
  {},
  { qeury: QUERY },
  { query: null },
  { query: 1 },
  { query: [QUERY] },
  { query: QUERY, variables: [7] },
  { query: QUERY, variables: 'x' },
  { query: QUERY, operationName: 1 },
  { query: QUERY, extensions: [7] },
]

const AS_LEGACY =
  'If the Accept header does not indicate support for one of the server’s preferred media types but does indicate support for application/json, as may be the case for a legacy client, the request SHOULD be performed following the requirements of this specification as if the request had specified Accept: application/graphql-response+json, except any response that produces a 2xx status code should replace the Content-Type header with Content-Type: application/json.'

const MUTATION_BY_GET =
  'If the values of {query} and {operationName} indicate that a mutation operation is to be executed, the server MUST respond with an appropriate 4xx status code and halt execution; status code 405 (Method Not Allowed) is RECOMMENDED.'

const WITHOUT_DATA =
  'If the GraphQL response does not contain the {data} entry then the server MUST reply with an appropriate 4xx or 5xx status code'

const legacy = { Accept: LEGACY }

/** For both media types. */
const withoutData = (body: object): Record<string, Run> =>
  Object.fromEntries(
    [GRAPHQL, LEGACY].map((Accept) => [
      `${JSON.stringify(body)}, Accept: ${Accept}`,
      async (target: Target) => {
        const response = await post(target, body, { Accept })
        expectRequestError(response)
        ok(response.status >= 400, `status ${response.status}`)
      },
    ]),
  )

/** The sentences about servers that can be tested without knowing the server. */
export const sentences: Sentence[] = [
  conform('MUST', 'A server MUST accept POST requests, and MAY accept other HTTP methods, such as GET.', {
    POST: async (target) => expectData(await post(target, { query: QUERY })),
  }),
  conform(
    'MUST',
    'For POST requests using an officially recognized GraphQL Content-Type without indicating an encoding, the server MUST assume the encoding is utf-8.',
    { 'a document with ä and 🐾': async (target) => expectData(await post(target, { query: `${QUERY} # ä 🐾` })) },
  ),
  conform(
    'SHOULD',
    'If the client does not supply a Content-Type header with a POST request, the server SHOULD reject the request using the appropriate 4xx status code.',
    {
      'no Content-Type': async (target) => {
        const body = new TextEncoder().encode(JSON.stringify({ query: QUERY })) // fetch adds a type to a text
        expectClientError(await send(target, '', { method: 'POST', body }))
      },
    },
  ),
  conform(
    'MUST',
    'Servers receiving a request with additional properties MUST ignore properties they do not understand.',
    { '{"query":…,"x":1}': async (target) => expectData(await post(target, { query: QUERY, x: 1 })) },
  ),
  conform('MUST', 'Specifying null for optional request parameters is equivalent to not specifying them at all.', {
    'variables, operationName and extensions': async (target) =>
      expectData(await post(target, { query: QUERY, variables: null, operationName: null, extensions: null })),
  }),
  conform(
    'MUST',
    'Specifying the empty string for optional request parameters is equivalent to not specifying them at all.',
    {
      'GET ?operationName=&variables=&extensions=': async (target) =>
        expectData(await get(target, { query: QUERY, operationName: '', variables: '', extensions: '' })),
    },
  ),
  conform(
    'MUST',
    'Each of the {variables} and {extensions} parameters, if present and not the empty string, MUST be encoded as a JSON string.',
    {
      'GET ?variables={"b":true}': async (target) =>
        expectData(await get(target, { query: WITH_VARIABLE, variables: '{"b":true}', extensions: '{}' })),
    },
  ),
  conform('MUST', MUTATION_BY_GET, {
    'GET ?query=mutation{__typename}': async (target) =>
      expectClientError(await get(target, { query: 'mutation { __typename }' })),
  }),
  conform('SHOULD', 'If a mutation is attempted via the GET verb, status code 405 SHOULD be used.', {
    'GET ?query=mutation{__typename}': async (target) => {
      const response = await get(target, { query: 'mutation { __typename }' })
      expectStatus(response, 405)
      ok(response.headers.has('allow'), 'when using status code 405 the Allow header MUST be specified')
    },
  }),

  // Response
  conform('MUST', 'A server MUST support responses using the application/graphql-response+json media type.', {
    'Accept: application/graphql-response+json': async (target) =>
      expectType(await post(target, { query: QUERY }), GRAPHQL),
  }),
  conform(
    'SHOULD',
    'A server MUST indicate the media type of the response with a Content-Type header, and SHOULD indicate the encoding (e.g. application/graphql-response+json; charset=utf-8).',
    {
      'a query': async (target) => {
        const { headers } = await post(target, { query: QUERY })
        ok(/; *charset=utf-8$/i.test(headers.get('content-type') ?? ''), `${headers.get('content-type')}`)
      },
    },
  ),
  conform(
    'MUST',
    'If an Accept header is provided, the server MUST respect the given Accept header and attempt to encode the response in the highest priority media type listed that is supported by the server.',
    Object.fromEntries(
      [
        `${GRAPHQL}, ${LEGACY};q=0.9`,
        `${LEGACY};q=0.9, ${GRAPHQL}`,
        `image/png, ${GRAPHQL};q=0.1`,
        `${GRAPHQL}; charset=utf-8, ${LEGACY}; charset=utf-8;q=0.9`,
      ].map((Accept) => [
        Accept,
        async (target: Target) => expectType(await post(target, { query: QUERY }, { Accept }), GRAPHQL),
      ]),
    ),
  ),
  conform(
    'MUST',
    'when the request includes an Accept header and no supported media type is acceptable according to that header, the server MUST either: Respond with a 406 Not Acceptable status code and stop processing the request; OR Disregard the Accept header and respond with the server’s choice of media type.',
    {
      'Accept: image/png': async (target) =>
        expectStatus(await post(target, { query: QUERY }, { Accept: 'image/png' }), 406, 200),
    },
  ),
  conform(
    'SHOULD',
    'If none of the media types in the Accept header are supported and the Accept header does not include application/json, then status code 406 SHOULD be used.',
    {
      'Accept: image/png': async (target) =>
        expectStatus(await post(target, { query: QUERY }, { Accept: 'image/png' }), 406),
    },
  ),
  conform('SHOULD', AS_LEGACY, {
    'a query': async (target) => {
      const response = await post(target, { query: QUERY }, legacy)
      expectData(response)
      expectType(response, LEGACY)
    },
    'a document that does not parse': async (target) =>
      expectGraphQLError(await post(target, { query: '{' }, legacy), 400),
    'a field that does not exist': async (target) =>
      expectGraphQLError(await post(target, { query: INVALID }, legacy), 422),
    'a body that is no GraphQL-over-HTTP request': async (target) =>
      expectGraphQLError(await post(target, {}, legacy), 422),
    'a variable of the wrong type': async (target) =>
      expectGraphQLError(await post(target, { query: WITH_VARIABLE, variables: { b: 'x' } }, legacy), 422),
    'a query with a partial result': async (target) => {
      const response = await post(target, partialOf(target), legacy)
      expectStatus(response, 200, 294)
      expectType(response, LEGACY)
    },
  }),

  // Status codes
  conform(
    'SHOULD',
    'If the GraphQL response contains the {data} entry and does not contain the {errors} entry, then the server SHOULD reply with a 200 status code.',
    { 'a query': async (target) => expectData(await post(target, { query: QUERY })) },
  ),
  conform(
    'MUST',
    'If the GraphQL response contains the {data} entry and it is not {null}, then the server MUST reply with a 2xx status code.',
    {
      'a query with a partial result': async (target) => {
        const { status, json } = await post(target, partialOf(target))
        if (!(json as { data?: unknown })?.data) throw new SkipError('data is null')
        ok(status >= 200 && status < 300, `status ${status} instead of 2xx`)
      },
    },
  ),
  conform(
    'SHOULD',
    'If the GraphQL response contains both the {data} entry (even if it is {null}) and the {errors} entry, then the server SHOULD reply with a 294 status code.',
    {
      'a query with a partial result': async (target) => {
        const response = await post(target, partialOf(target))
        expectStatus(response, 294)
        expectType(response, GRAPHQL)
        deepStrictEqual(
          Object.keys(response.json as object)
            .filter((name) => /^(data|errors)$/.test(name))
            .sort(),
          ['data', 'errors'],
        )
      },
    },
  ),
  conform('MUST', WITHOUT_DATA, {
    ...withoutData({ query: '{' }),
    ...withoutData({ query: INVALID }),
    ...withoutData({}),
    ...withoutData({ query: QUERY, operationName: 'Nope' }),
    ...withoutData({ query: WITH_VARIABLE, variables: { b: 'x' } }),
  }),
  conform('SHOULD', 'If the request uses an unsupported HTTP method, status code 405 SHOULD be used.', {
    PUT: async (target) => {
      const init = {
        method: 'PUT',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify({ query: QUERY }),
      }
      const response = await send(target, '', init)
      expectStatus(response, 405)
      ok(response.headers.has('allow'), 'when using status code 405 the Allow header MUST be specified')
    },
  }),
  conform('SHOULD', 'If the Content-Type of the request is not supported, status code 415 SHOULD be used.', {
    'Content-Type: application/xml': async (target) =>
      expectStatus(await post(target, { query: QUERY }, { 'Content-Type': 'application/xml' }), 415),
  }),
  conform(
    'SHOULD',
    'If the size of the URI was too large, status code 414 SHOULD be used (and the client should consider using POST instead).',
    {
      'GET with 200,000 characters': async (target) =>
        expectStatus(await get(target, { query: QUERY.padEnd(200_000) }), 414, 200),
    },
  ),
  conform(
    'SHOULD',
    'If the size of the request headers (or any one header) was too large, status code 431 SHOULD be used.',
    {
      'a header of 100,000 bytes': async (target) =>
        expectStatus(await post(target, { query: QUERY }, { 'X-Large': 'x'.repeat(100_000) }), 431, 200),
    },
  ),
  conform('SHOULD', 'If the size of the POST request body was too large, status code 413 SHOULD be used.', {
    'a body of 3,000,000 bytes': async (target) =>
      expectStatus(await post(target, { query: QUERY.padEnd(3_000_000) }), 413, 200),
  }),
  rejects('If the JSON body of the request could not be parsed, status code 400 SHOULD be used.', 400, [
    'NONSENSE',
    '{"query":',
    '',
  ]),
  rejects(
    'If the request is not a well-formed GraphQL-over-HTTP request, status code 422 SHOULD be used.',
    422,
    NOT_WELL_FORMED,
  ),
  rejects('If the GraphQL document in the request cannot be parsed, status code 400 SHOULD be used.', 400, [
    { query: '{' },
    { query: '' },
  ]),
  rejects('If the request does not pass GraphQL validation, status code 422 SHOULD be used.', 422, [
    { query: INVALID },
    { query: 'query ($b: Boolean!) { __typename }', variables: { b: true } },
  ]),
  rejects('If the operation to execute cannot be unambiguously determined, status code 422 SHOULD be used.', 422, [
    { query: TWO_OPERATIONS },
    { query: TWO_OPERATIONS, operationName: 'C' },
  ]),
  rejects(
    'If the variable values cannot be coerced to match the operation’s variable definitions, status code 422 SHOULD be used.',
    422,
    [{ query: WITH_VARIABLE }, { query: WITH_VARIABLE, variables: { b: 'x' } }],
  ),
  conform(
    'SHOULD',
    'If the client is not permitted to issue the GraphQL request, then the server SHOULD reply with 401, 403 or similar appropriate status code.',
    {
      'without the key': async (target) => {
        if (!target.headers.Authorization) throw new SkipError('needs a key')
        expectStatus(await post({ ...target, headers: {} }, { query: QUERY }), 401, 403)
      },
    },
  ),
]
