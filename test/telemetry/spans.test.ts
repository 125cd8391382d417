import { context, propagation, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api'
import type { ReadableSpan } from '@opentelemetry/sdk-trace-base'
import { pino } from 'pino'
import { describe, expect } from 'vitest'
import { mintKey } from '../../src/auth/api-keys.ts'
import { version } from '../../src/project.ts'
import { startTracing } from '../../src/telemetry/tracing.ts'
import { databaseOf, withClient, type TestService, testWithService as base } from '../support/harness.ts'
import { openStream } from '../support/event-stream.ts'
import { stopClock, waitUntil } from '../support/timeouts.ts'

/** In the order in which they started: their timestamps have a resolution of a millisecond. */
const begun: ReadableSpan[] = []

/** The SDK as the service uses it, with an exporter in memory. */
const { tracer } = await startTracing({
  exporters: [],
  log: pino({ level: 'silent' }),
  processors: [
    { onStart: (span) => void begun.push(span), onEnd() {}, forceFlush: async () => {}, shutdown: async () => {} },
  ],
})

/** Starts a client with a trace of its own. */
function startClient() {
  const span = tracer.startSpan('a client', { kind: SpanKind.CLIENT })
  const within = trace.setSpan(context.active(), span)
  const headers: Record<string, string> = {} // which propagate its trace
  propagation.inject(within, headers)
  const { traceId, spanId } = span.spanContext()
  const isChild = (span: ReadableSpan) => span.spanContext().traceId === traceId && span.spanContext().spanId !== spanId
  return {
    spanId,
    headers,
    /** Waits until no span in its trace is open but its own. @returns them in the order in which they started */
    async spans() {
      const spans = () => begun.filter(isChild)
      await waitUntil(() => spans().every(({ ended }) => ended))
      return spans()
    },
  }
}

const finished = (): ReadableSpan[] => begun.filter(({ ended }) => ended)

/** `name < parent` for each span. */
function tree(spans: ReadableSpan[], root: string): string[] {
  const names = new Map(spans.map((span) => [span.spanContext().spanId, span.name]))
  names.set(root, 'client')
  return spans.map(({ name, parentSpanContext }) => `${name} < ${names.get(parentSpanContext?.spanId ?? '') ?? 'none'}`)
}

/** A test with a service that is traced. The key is cached and time stands still, so that no span is of its lookup. */
const test = base.extend<{ traced: TestService }>({
  traced: async ({ service }, use) => {
    stopClock()
    const traced = await service.startPeer({ tracer, DATABASE_POOL_SIZE: 1 })
    await traced.send('/v1/pets')
    await use(traced)
  },
})

const graphql = ({ headers }: ReturnType<typeof startClient>, { postGraphQL }: TestService, query: string) =>
  postGraphQL({ query }, headers)

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
      '{"query":"query Mine { pets { totalCount } }"}',
      ['POST /graphql < client', 'query < POST /graphql', 'BEGIN < query', select, 'COMMIT < query'],
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
    expect(tree(await client.spans(), client.spanId)).toEqual(expected)
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
    const spans = await client.spans()
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
    const traces = await Promise.all(clients.map((client) => client.spans()))
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
    const spans = await client.spans()
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
    for (const path of ['/v1/pets/%73ecret', '/nothing/%73ecret']) await traced.send(path, { headers: client.headers })
    const paths = (await client.spans()).map(({ attributes }) => attributes['url.path'])
    expect(paths).toEqual(['/v1/pets/{petId}', undefined])
  })

  test('is named after the method alone where there is no route, and after neither when that is unknown', async ({
    traced,
  }) => {
    const client = startClient()
    await traced.send(`/nothing/${mintKey()}`, { headers: client.headers })
    await fetch(`${traced.base}/v1/pets`, { method: 'PROPFIND', headers: client.headers })
    const [unknownPath, unknownMethod] = await client.spans()
    expect(unknownPath).toMatchObject({
      name: 'GET',
      attributes: { 'url.path': expect.stringMatching(/^\/nothing\/pets_[0-9a-z]{8}…$/) },
    })
    expect(unknownPath?.attributes).not.toHaveProperty(['http.route'])
    const method = { 'http.request.method': '_OTHER', 'http.request.method_original': 'PROPFIND' }
    expect(unknownMethod).toMatchObject({ name: 'HTTP /v1/pets', attributes: method })
  })

  test('is the one that the log names, also when the client sent none', async ({ traced }) => {
    for (const { headers } of [startClient(), { headers: {} }]) {
      const response = await traced.send('/v1/pets', { headers })
      const { traceparent } = await traced.log.line({ requestId: response.headers.get('x-request-id') })
      const span = finished()
        .findLast(({ kind }) => kind === SpanKind.SERVER)
        ?.spanContext()
      expect(traceparent).toBe(`00-${span?.traceId}-${span?.spanId}-01`)
    }
  })

  test('is an error if the client disconnects before the response', async ({ traced }) => {
    const client = startClient()
    const { pool } = traced.database
    const [span] = await withClient(async (other) => {
      await other.query('BEGIN; LOCK TABLE animal')
      const leave = new AbortController()
      const response = traced.send('/v1/pets', { headers: client.headers, signal: leave.signal })
      await waitUntil(() => pool.totalCount > pool.idleCount)
      leave.abort()
      await expect(response).rejects.toThrow('abort')
      return client.spans()
    }, databaseOf(traced))
    expect(span).toMatchObject({
      name: 'GET /v1/pets',
      status: { code: SpanStatusCode.ERROR },
      attributes: { 'error.type': 'client_disconnected' },
    })
    expect(span?.attributes).not.toHaveProperty(['http.response.status_code'])
  })

  test('is not recorded if the client does not sample, and the log contains the trace id', async ({ traced }) => {
    const before = finished().length
    const trace = '00-0af7651916cd43dd8448eb211c80319c-'
    const headers = { traceparent: `${trace}b7ad6b7169203331-00`, 'X-Request-Id': 'unsampled' }
    await traced.send('/v1/pets', { headers })
    const { traceparent } = await traced.log.line({ requestId: 'unsampled' })
    expect(finished()).toHaveLength(before)
    expect(traceparent).toMatch(new RegExp(`^${trace}(?!b7ad6b7169203331)[\\da-f]{16}-00$`))
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
    const [, operation] = await client.spans()
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
    const spans = (await client.spans()).filter(({ name }) => name !== 'POST /graphql')
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
    const [, span] = await client.spans()
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
    const spans = await client.spans()
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
})
