import { mintKey } from '../../src/auth/api-key.ts'
import { SpanKind, SpanStatusCode } from '@opentelemetry/api'
import { pino } from 'pino'
import { describe, expect } from 'vitest'
import { version } from '../../src/project.ts'
import { databaseOf, withClient, type TestService, testWithService as base } from '../support/harness.ts'
import { type Client, finished, startClient, tracer, tree } from './memory-exporter.ts'
import { openStream } from '../support/event-stream.ts'
import { waitFor, waitUntil } from '../support/timeouts.ts'

/** A test with a service that is traced, and its log. The key is cached, so that no span is of its lookup. */
const test = base.extend<{ traced: TestService; lines: Record<string, unknown>[] }>({
  // Vitest reads the fixture's first parameter and wants a pattern there.
  // oxlint-disable-next-line no-empty-pattern
  lines: async ({}, use) => use([]),
  traced: async ({ service, lines }, use) => {
    const log = pino({}, { write: (line: string) => void lines.push(JSON.parse(line)) })
    const traced = await service.startPeer({ tracer, log, DATABASE_POOL_SIZE: 1 })
    await traced.send('/v1/pets')
    lines.length = 0
    await use(traced)
  },
})

const graphql = (client: Client, { send }: TestService, query: string) =>
  send('/graphql', {
    method: 'POST',
    headers: { ...client.headers, 'Content-Type': 'application/json' },
    body: JSON.stringify({ query }),
  })

const newPet = JSON.stringify({ name: 'Rex', categoryId: 1 })
const json = { 'Content-Type': 'application/json' }

describe('a trace contains the spans of the client, the service and PostgreSQL', () => {
  const insertOnce = 'mutation { createPet(input: { name: "a", categoryId: 1 }, idempotencyKey: "k") { id } }'
  const select = 'SELECT public.animal < query'
  test.for([
    ['/v1/pets?limit=3', undefined, ['GET /v1/pets < client', 'SELECT public.animal < GET /v1/pets']],
    ['/v1/pets', newPet, ['POST /v1/pets < client', 'INSERT public.animal < POST /v1/pets']],
    [
      '/graphql',
      '{"query":"query Mine { pets { totalCount nodes { id } } }"}',
      ['POST /graphql < client', 'query < POST /graphql', select, select],
    ],
    [
      '/graphql',
      JSON.stringify({ query: insertOnce }),
      ['POST /graphql < client', 'mutation < POST /graphql', 'INSERT idempotency_key < mutation'],
    ],
  ] as const)('%s %s', async ([path, body, expected], { traced }) => {
    const client = startClient()
    const headers = { ...client.headers, ...json }
    await traced.send(path, body ? { method: 'POST', headers, body } : { headers })
    expect(tree(await client.spans(expected.length), client.spanId)).toEqual(expected)
  })

  test('GraphQL, a subscription, until its client disconnects: the reads of the feed are of no request', async ({
    traced,
  }) => {
    const client = startClient()
    const stream = await openStream(traced, {
      query: 'subscription { petCreated { cursor } }',
      headers: client.headers,
    })
    for (const count of [1, 2, 3]) {
      await traced.send('/v1/pets', { method: 'POST', headers: json, body: newPet })
      await stream.received(count)
    }
    stream.close()
    const spans = await client.allSpans()
    // The stream reads once before the feed, and once more if the first animal was added before the feed's first read.
    expect(spans.length).toBeLessThanOrEqual(4)
    expect(new Set(tree(spans, client.spanId))).toEqual(
      new Set(['POST /graphql < client', 'subscription < POST /graphql', 'SELECT public.animal < subscription']),
    )
    for (const { status, attributes } of spans) {
      expect([status.code, attributes['error.type']]).toEqual([SpanStatusCode.UNSET, undefined])
    }
  })

  test('requests that share a statement: it is in the trace of the first, and linked from each', async ({ traced }) => {
    const clients = Array.from({ length: 6 }, startClient)
    const paths = clients.map((_client, n) => `/v1/pets?limit=${n + 1}`) // the same page would be read once for all
    await withClient(async (client) => {
      await client.query('BEGIN; LOCK TABLE animal IN ACCESS EXCLUSIVE MODE')
      const responses = clients.map(({ headers }, n) => traced.send(paths[n] ?? '', { headers }))
      await waitUntil(() => traced.database.waitingCount() === 5) // one was sent, five wait for the one connection
      await client.query('ROLLBACK')
      await Promise.all(responses)
    }, databaseOf(traced))
    const alone = ['GET /v1/pets < client', 'SELECT public.animal < GET /v1/pets']
    const traces = await Promise.all(clients.map((client, n) => client.spans(n < 2 ? 2 : 1)))
    expect(traces.map((spans, n) => tree(spans, clients[n]?.spanId ?? ''))).toEqual([
      alone,
      alone,
      ...Array.from({ length: 4 }, () => ['GET /v1/pets < client']),
    ])
    const shared = traces[1]?.[1]
    expect(shared?.attributes['db.operation.batch.size']).toBe(5)
    const links = traces.map(([request]) => request?.links.map(({ context }) => context))
    expect(links).toEqual([[], ...Array.from({ length: 5 }, () => [shared?.spanContext()])])
  })
})

describe('the span of a request', () => {
  test('has the attributes of the semantic conventions for HTTP, without the query string and tracestate', async ({
    traced,
  }) => {
    const client = startClient()
    await traced.send('/v1/pets/77?a=b', { headers: { ...client.headers, tracestate: 'vendor=secret' } })
    const spans = await client.spans(2)
    for (const each of spans)
      expect([each.spanContext().traceState, each.parentSpanContext?.traceState]).toEqual([undefined, undefined])
    const [span] = spans
    expect(span?.parentSpanContext?.spanId).toBe(client.spanId)
    expect(span).toMatchObject({ kind: SpanKind.SERVER, status: { code: SpanStatusCode.UNSET } })
    expect(span?.attributes).toEqual({
      'http.request.method': 'GET',
      'http.route': '/v1/pets/{petId}',
      'url.path': '/v1/pets/77',
      'url.scheme': 'http',
      'network.protocol.version': '1.1',
      'http.response.status_code': 404,
    })
    expect(span?.resource.attributes).toMatchObject({ 'service.name': 'pet-store', 'service.version': version })
  })

  test('has the route instead of a percent-encoded path, in which a key could not be redacted', async ({ traced }) => {
    const client = startClient()
    await traced.send('/v1/pets/%73ecret', { headers: client.headers })
    await traced.send('/nothing/%73ecret', { headers: client.headers })
    const paths = (await client.spans(2))
      .filter(({ kind }) => kind === SpanKind.SERVER)
      .map(({ attributes }) => attributes['url.path'])
    expect(paths).toEqual(['/v1/pets/{petId}', undefined])
  })

  test('is named after the method alone where there is no route, and after neither when that is unknown', async ({
    traced,
  }) => {
    const client = startClient()
    await traced.send(`/nothing/${mintKey()}`, { headers: client.headers })
    await fetch(`${traced.base}/v1/pets`, { method: 'PROPFIND', headers: client.headers })
    const [unknownPath, unknownMethod] = await client.spans(2)
    expect(unknownPath).toMatchObject({
      name: 'GET',
      attributes: { 'url.path': expect.stringMatching(/^\/nothing\/pets_[0-9a-z]{8}…$/) },
    })
    expect(unknownPath?.attributes).not.toHaveProperty(['http.route'])
    const method = { 'http.request.method': '_OTHER', 'http.request.method_original': 'PROPFIND' }
    expect(unknownMethod).toMatchObject({ name: 'HTTP /v1/pets', attributes: method })
  })

  test('is the one that the log names, also when the client sent none', async ({ traced, lines }) => {
    const client = startClient()
    const before = finished().length
    await traced.send('/v1/pets', { headers: client.headers })
    await traced.send('/v1/pets')
    await waitFor(() => expect(lines).toHaveLength(2))
    const servers = finished()
      .slice(before)
      .filter(({ kind }) => kind === SpanKind.SERVER)
    const parents = servers.map((span) => `00-${span.spanContext().traceId}-${span.spanContext().spanId}-01`)
    expect(lines.map(({ traceparent }) => traceparent)).toEqual(parents)
    expect(parents[0]).toContain(client.traceId)
  })

  test('is an error if the client disconnects before the response', async ({ traced }) => {
    const client = startClient()
    const { pathname } = new URL(traced.databaseUrl)
    const [span] = await withClient(async (other) => {
      await other.query('BEGIN; LOCK TABLE animal')
      const leave = new AbortController()
      const response = traced.send('/v1/pets', { headers: client.headers, signal: leave.signal })
      setTimeout(() => leave.abort(), 100)
      await expect(response).rejects.toThrow('abort')
      return client.spans(1)
    }, pathname.slice(1))
    expect(span).toMatchObject({
      name: 'GET /v1/pets',
      status: { code: SpanStatusCode.ERROR },
      attributes: { 'error.type': 'client_disconnected' },
    })
    expect(span?.attributes).not.toHaveProperty(['http.response.status_code'])
  })

  test('is not recorded if the client does not sample, and the log contains the trace id', async ({
    traced,
    lines,
  }) => {
    const before = finished().length
    const traceId = '0af7651916cd43dd8448eb211c80319c'
    await traced.send('/v1/pets', { headers: { traceparent: `00-${traceId}-b7ad6b7169203331-00` } })
    await waitFor(() => expect(lines).toHaveLength(1))
    expect(finished()).toHaveLength(before)
    expect(lines[0]?.traceparent).toMatch(new RegExp(`^00-${traceId}-(?!b7ad6b7169203331)[\\da-f]{16}-00$`))
  })

  test('is not recorded for health checks and metrics', async ({ traced }) => {
    const before = finished().length
    for (const path of ['/livez', '/readyz', '/metrics']) await traced.send(path)
    expect(finished()).toHaveLength(before)
  })
})

describe('the span of an operation', () => {
  test('is named after the operation type, and has the operation name but not the document', async ({ traced }) => {
    const client = startClient()
    await graphql(client, traced, 'query Mine { pet(id: 12345) { id } }')
    const [, operation] = await client.spans(3)
    expect(operation).toMatchObject({ name: 'query', kind: SpanKind.SERVER, status: { code: SpanStatusCode.UNSET } })
    expect(operation?.attributes).toEqual({
      'graphql.operation.type': 'query',
      'graphql.operation.name': 'Mine',
      'error.type': 'NOT_FOUND',
    })
  })

  test('has the error if nothing is executed', async ({ traced }) => {
    const client = startClient()
    await graphql(client, traced, '{')
    await graphql(client, traced, '{ pets { nothing } }')
    const spans = (await client.spans(4)).filter(({ name }) => name !== 'POST /graphql')
    expect(spans.map(({ name, attributes }) => [name, attributes['error.type']])).toEqual([
      ['GraphQL Operation', 'GRAPHQL_PARSE_FAILED'],
      ['query', 'GRAPHQL_VALIDATION_FAILED'],
    ])
  })
})

describe('the span of a statement', () => {
  test('has the attributes of the semantic conventions for PostgreSQL, without values', async ({ traced }) => {
    const client = startClient()
    await traced.send('/v1/pets?status=sold', { headers: client.headers })
    const [, span] = await client.spans(2)
    expect(span).toMatchObject({ kind: SpanKind.CLIENT, status: { code: SpanStatusCode.UNSET } })
    const url = new URL(traced.databaseUrl)
    expect(span?.attributes).toEqual({
      'db.system.name': 'postgresql',
      'db.namespace': url.pathname.slice(1),
      'db.operation.name': 'SELECT',
      'db.query.summary': 'SELECT public.animal',
      'db.query.text': expect.stringMatching(/^\s*SELECT [^]* WHERE [^]*$/),
      'server.address': url.hostname,
      'server.port': Number(url.port || 5432),
      'postgresql.backend.pid': expect.any(Number),
    })
    expect(JSON.stringify(span?.attributes)).not.toContain('sold')
  })

  test('has the SQLSTATE of a failure, which is an error of every parent span', async ({ traced }) => {
    await traced.database.pool.query('ALTER TABLE animal RENAME TO gone')
    const client = startClient()
    await graphql(client, traced, '{ pets { nodes { id } } }')
    await traced.send('/v1/pets', { headers: client.headers })
    const spans = await client.spans(5)
    const statuses = spans.map(({ name, status, attributes }) => [name, status.code, attributes['error.type']])
    expect(statuses).toEqual([
      ['POST /graphql', SpanStatusCode.UNSET, undefined], // a 200 response that contains errors
      ['query', SpanStatusCode.ERROR, 'UNAVAILABLE'],
      ['SELECT public.animal', SpanStatusCode.ERROR, '42P01'],
      ['GET /v1/pets', SpanStatusCode.ERROR, 'UNAVAILABLE'],
      ['SELECT public.animal', SpanStatusCode.ERROR, '42P01'],
    ])
    expect(spans.at(-1)?.attributes['db.response.status_code']).toBe('42P01')
  })

  test('is recorded for each statement of a transaction', async ({ traced }) => {
    const client = startClient()
    await client.within(() => traced.keys.rotate(traced.key.slice(0, 13), 0))
    const names = (await client.spans(7)).map(({ name }) => name)
    expect(names).toEqual([
      'BEGIN',
      'SELECT api_key',
      'SELECT public.api_key',
      'SELECT public.api_key',
      'UPDATE public.api_key',
      'INSERT public.api_key',
      'COMMIT',
    ])
  })

  test('is recorded for a statement with a callback', async ({ traced }) => {
    const client = startClient()
    const { pool } = traced.database
    const error = await new Promise((resolve) => client.within(() => void pool.query('SELECT nonsense', resolve)))
    expect(error).toMatchObject({ code: '42703' })
    const [span] = await client.spans(1)
    expect(span).toMatchObject({ name: 'SELECT', attributes: { 'error.type': '42703' } })
  })
})
