import { ok, strictEqual } from 'node:assert/strict'

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
/** By what is sent. */
type Requests = Record<string, Run>
/** @throws Error if the response is another one */
type Expectation = (response: Received) => void

/** A sentence of GraphQL over HTTP, edition September 2026, and requests that show whether a server follows it. */
export interface Sentence {
  level: 'MUST' | 'SHOULD'
  /** In the words of the edition, without its markup. */
  sentence: string
  requests: Requests
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

/** @param body text is sent unchanged */
function posts(body: unknown, expect: Expectation, headers?: Headings): Run {
  return async (target) => expect(await post(target, body, headers))
}

function gets(parameters: Record<string, string>, expect: Expectation): Run {
  return async (target) => expect(await get(target, parameters))
}

/** Posts the query whose result has data and errors. */
function postsPartial(expect: Expectation, headers?: Headings): Run {
  return async (target) => {
    if (!target.partial) throw new SkipError('needs a query whose result has data and errors')
    expect(await post(target, { query: target.partial }, headers))
  }
}

/** Posts each of the bodies with each of the values of Accept. */
function postsAll(bodies: unknown[], expect: Expectation, accepts = [GRAPHQL]): Requests {
  const requests = bodies.flatMap((body) => accepts.map((Accept) => ({ body, Accept })))
  const titleOf = ({ body, Accept }: { body: unknown; Accept: string }) => `${JSON.stringify(body)}, Accept: ${Accept}`
  return Object.fromEntries(requests.map((one) => [titleOf(one), posts(one.body, expect, { Accept: one.Accept })]))
}

const rejects = (status: number, bodies: unknown[]) => postsAll(bodies, hasStatus(status))

const brief = (json: unknown) => (json === undefined ? 'the body is no JSON' : JSON.stringify(json).slice(0, 150))

function all(...expectations: Expectation[]): Expectation {
  return (response) => expectations.forEach((expect) => expect(response))
}

function hasStatus(...expected: number[]): Expectation {
  return ({ status, json }) =>
    ok(expected.includes(status), `status ${status} instead of ${expected.join(' or ')}: ${brief(json)}`)
}

function hasType(expected: string): Expectation {
  return ({ type, json }) =>
    strictEqual(type, expected, `${type || 'no media type'} instead of ${expected}: ${brief(json)}`)
}

const isClientError: Expectation = ({ status, json }) =>
  ok(status >= 400 && status < 500, `status ${status} instead of 4xx: ${brief(json)}`)

const isNotAllowed = all(hasStatus(405), ({ headers }) =>
  ok(headers.has('allow'), 'when using status code 405 the Allow header MUST be specified'),
)

/** The result of QUERY. */
const isData = all(hasStatus(200), ({ json }) => {
  const { data } = json as { data?: { __typename?: unknown } }
  strictEqual(typeof data?.__typename, 'string', `no data: ${brief(json)}`)
})

/** A response without data, with at least one error. */
const isRequestError: Expectation = ({ json }) => {
  const { errors, data } = (json ?? {}) as { errors?: { message: unknown }[]; data?: unknown }
  const hasMessages = Array.isArray(errors) && errors.every(({ message }) => typeof message === 'string')
  ok(hasMessages && errors.length > 0, `no errors with messages: ${brief(json)}`)
  strictEqual(data, undefined, `data beside a request error: ${brief(json)}`)
}

/** A request error with a status, in the media type of GraphQL. */
const isGraphQLError = (status: number) => all(hasStatus(status), hasType(GRAPHQL), isRequestError)

const TWO_OPERATIONS = 'query A { __typename } query B { __typename }'
const WITH_VARIABLE = 'query ($b: Boolean!) { __typename @include(if: $b) }'

const legacy = { Accept: LEGACY }

/** What a server that can be tested without knowing it must do. */
const MUST: Record<string, Requests> = {
  'A server MUST accept POST requests, and MAY accept other HTTP methods, such as GET.': {
    POST: posts({ query: QUERY }, isData),
  },
  'For POST requests using an officially recognized GraphQL Content-Type without indicating an encoding, the server MUST assume the encoding is utf-8.':
    { 'a document with ä and 🐾': posts({ query: `${QUERY} # ä 🐾` }, isData) },
  'Servers receiving a request with additional properties MUST ignore properties they do not understand.': {
    '{"query":…,"x":1}': posts({ query: QUERY, x: 1 }, isData),
  },
  'Specifying null for optional request parameters is equivalent to not specifying them at all.': {
    'all optional parameters': posts({ query: QUERY, variables: null, operationName: null, extensions: null }, isData),
  },
  'Specifying the empty string for optional request parameters is equivalent to not specifying them at all.': {
    'GET with each empty': gets({ query: QUERY, operationName: '', variables: '', extensions: '' }, isData),
  },
  'Each of the {variables} and {extensions} parameters, if present and not the empty string, MUST be encoded as a JSON string.':
    { 'GET ?variables={"b":true}': gets({ query: WITH_VARIABLE, variables: '{"b":true}', extensions: '{}' }, isData) },
  'If the values of {query} and {operationName} indicate that a mutation operation is to be executed, the server MUST respond with an appropriate 4xx status code and halt execution; status code 405 (Method Not Allowed) is RECOMMENDED.':
    { 'GET ?query=mutation{__typename}': gets({ query: 'mutation { __typename }' }, isClientError) },

  // Response
  'A server MUST support responses using the application/graphql-response+json media type.': {
    'Accept: application/graphql-response+json': posts({ query: QUERY }, hasType(GRAPHQL)),
  },
  'If an Accept header is provided, the server MUST respect the given Accept header and attempt to encode the response in the highest priority media type listed that is supported by the server.':
    Object.fromEntries(
      [
        `${GRAPHQL}, ${LEGACY};q=0.9`,
        `${LEGACY};q=0.9, ${GRAPHQL}`,
        `image/png, ${GRAPHQL};q=0.1`,
        `${GRAPHQL}; charset=utf-8, ${LEGACY}; charset=utf-8;q=0.9`,
      ].map((Accept) => [Accept, posts({ query: QUERY }, hasType(GRAPHQL), { Accept })]),
    ),
  'when the request includes an Accept header and no supported media type is acceptable according to that header, the server MUST either: Respond with a 406 Not Acceptable status code and stop processing the request; OR Disregard the Accept header and respond with the server’s choice of media type.':
    { 'Accept: image/png': posts({ query: QUERY }, hasStatus(406, 200), { Accept: 'image/png' }) },

  // Status codes
  'If the GraphQL response contains the {data} entry and it is not {null}, then the server MUST reply with a 2xx status code.':
    {
      'a query with a partial result': postsPartial(({ status, json }) => {
        if (!(json as { data?: unknown })?.data) throw new SkipError('data is null')
        ok(status >= 200 && status < 300, `status ${status} instead of 2xx`)
      }),
    },
  'If the GraphQL response does not contain the {data} entry then the server MUST reply with an appropriate 4xx or 5xx status code':
    postsAll(
      [
        { query: '{' },
        { query: INVALID },
        {},
        { query: QUERY, operationName: 'Nope' },
        { query: WITH_VARIABLE, variables: { b: 'x' } },
      ],
      all(isRequestError, ({ status }) => ok(status >= 400, `status ${status}`)),
      [GRAPHQL, LEGACY],
    ),
}

const SHOULD: Record<string, Requests> = {
  'If the client does not supply a Content-Type header with a POST request, the server SHOULD reject the request using the appropriate 4xx status code.':
    {
      'no Content-Type': async (target) => {
        const body = new TextEncoder().encode(JSON.stringify({ query: QUERY })) // fetch adds a type to a text
        isClientError(await send(target, '', { method: 'POST', body }))
      },
    },
  'If a mutation is attempted via the GET verb, status code 405 SHOULD be used.': {
    'GET ?query=mutation{__typename}': gets({ query: 'mutation { __typename }' }, isNotAllowed),
  },

  // Response
  'A server MUST indicate the media type of the response with a Content-Type header, and SHOULD indicate the encoding (e.g. application/graphql-response+json; charset=utf-8).':
    {
      'a query': posts({ query: QUERY }, ({ headers }) =>
        ok(/; *charset=utf-8$/i.test(headers.get('content-type') ?? ''), `${headers.get('content-type')}`),
      ),
    },
  'If none of the media types in the Accept header are supported and the Accept header does not include application/json, then status code 406 SHOULD be used.':
    { 'Accept: image/png': posts({ query: QUERY }, hasStatus(406), { Accept: 'image/png' }) },
  'If the Accept header does not indicate support for one of the server’s preferred media types but does indicate support for application/json, as may be the case for a legacy client, the request SHOULD be performed following the requirements of this specification as if the request had specified Accept: application/graphql-response+json, except any response that produces a 2xx status code should replace the Content-Type header with Content-Type: application/json.':
    {
      'a query': posts({ query: QUERY }, all(isData, hasType(LEGACY)), legacy),
      'a document that does not parse': posts({ query: '{' }, isGraphQLError(400), legacy),
      'a field that does not exist': posts({ query: INVALID }, isGraphQLError(422), legacy),
      'a body that is no GraphQL-over-HTTP request': posts({}, isGraphQLError(422), legacy),
      'a variable of another type': posts({ query: WITH_VARIABLE, variables: { b: 'x' } }, isGraphQLError(422), legacy),
      'a query with a partial result': postsPartial(all(hasStatus(200, 294), hasType(LEGACY)), legacy),
    },

  // Status codes
  'If the GraphQL response contains the {data} entry and does not contain the {errors} entry, then the server SHOULD reply with a 200 status code.':
    { 'a query': posts({ query: QUERY }, isData) },
  'If the GraphQL response contains both the {data} entry (even if it is {null}) and the {errors} entry, then the server SHOULD reply with a 294 status code.':
    {
      'a query with a partial result': postsPartial(
        all(hasStatus(294), hasType(GRAPHQL), ({ json }) => {
          for (const name of ['data', 'errors']) ok(name in (json as object), `no ${name}: ${brief(json)}`)
        }),
      ),
    },
  'If the request uses an unsupported HTTP method, status code 405 SHOULD be used.': {
    PUT: async (target) => {
      const headers = { 'Content-Type': 'application/json' }
      isNotAllowed(await send(target, '', { method: 'PUT', headers, body: JSON.stringify({ query: QUERY }) }))
    },
  },
  'If the Content-Type of the request is not supported, status code 415 SHOULD be used.': {
    'Content-Type: application/xml': posts({ query: QUERY }, hasStatus(415), { 'Content-Type': 'application/xml' }),
  },
  'If the size of the URI was too large, status code 414 SHOULD be used (and the client should consider using POST instead).':
    { 'GET with 200,000 characters': gets({ query: QUERY.padEnd(200_000) }, hasStatus(414, 200)) },
  'If the size of the request headers (or any one header) was too large, status code 431 SHOULD be used.': {
    'a header of 100,000 bytes': posts({ query: QUERY }, hasStatus(431, 200), { 'X-Large': 'x'.repeat(100_000) }),
  },
  'If the size of the POST request body was too large, status code 413 SHOULD be used.': {
    'a body of 3,000,000 bytes': posts({ query: QUERY.padEnd(3_000_000) }, hasStatus(413, 200)),
  },
  'If the JSON body of the request could not be parsed, status code 400 SHOULD be used.': rejects(400, [
    ...['NONSENSE', '{"query":', ''],
  ]),
  'If the request is not a well-formed GraphQL-over-HTTP request, status code 422 SHOULD be used.': rejects(422, [
    {},
    { qeury: QUERY },
    { query: null },
    { query: 1 },
    { query: [QUERY] },
    { query: QUERY, variables: [7] },
    { query: QUERY, variables: 'x' },
    { query: QUERY, operationName: 1 },
    { query: QUERY, extensions: [7] },
  ]),
  'If the GraphQL document in the request cannot be parsed, status code 400 SHOULD be used.': rejects(400, [
    { query: '{' },
    { query: '' },
  ]),
  'If the request does not pass GraphQL validation, status code 422 SHOULD be used.': rejects(422, [
    { query: INVALID },
    { query: 'query ($b: Boolean!) { __typename }', variables: { b: true } },
  ]),
  'If the operation to execute cannot be unambiguously determined, status code 422 SHOULD be used.': rejects(422, [
    { query: TWO_OPERATIONS },
    { query: TWO_OPERATIONS, operationName: 'C' },
  ]),
  'If the variable values cannot be coerced to match the operation’s variable definitions, status code 422 SHOULD be used.':
    rejects(422, [{ query: WITH_VARIABLE }, { query: WITH_VARIABLE, variables: { b: 'x' } }]),
  'If the client is not permitted to issue the GraphQL request, then the server SHOULD reply with 401, 403 or similar appropriate status code.':
    {
      'without the key': async (target) => {
        if (!target.headers.Authorization) throw new SkipError('needs a key')
        hasStatus(401, 403)(await post({ ...target, headers: {} }, { query: QUERY }))
      },
    },
}

export const sentences: Sentence[] = Object.entries({ MUST, SHOULD }).flatMap(([level, requestsOf]) =>
  Object.entries(requestsOf).map(([sentence, requests]) => ({ level: level as Sentence['level'], sentence, requests })),
)
