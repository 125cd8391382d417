import { randomBytes } from 'node:crypto'
import { SpanKind, SpanStatusCode } from '@opentelemetry/api'
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base'
import { describe, expect } from 'vitest'
import { mintKey } from '../../src/auth/api-keys.ts'
import { createRecordSpan } from '../../src/telemetry/tracing.ts'
import { type TestService, testWithSharedService } from '../support/harness.ts'
import { openStream } from '../support/event-stream.ts'
import { whileLocked } from '../support/locks.ts'
import { waitUntil } from '../support/timeouts.ts'

const exporter = new InMemorySpanExporter()
const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] })
const recordSpan = createRecordSpan(provider.getTracer('test'))

/** A client with a trace of its own. */
function startClient() {
  const traceId = randomBytes(16).toString('hex')
  const spanId = randomBytes(8).toString('hex')
  return {
    spanId,
    headers: { traceparent: `00-${traceId}-${spanId}-01` },
    /** Waits for the spans of its requests, one for each. */
    async spans(count: number) {
      const spans = () => exporter.getFinishedSpans().filter((span) => span.spanContext().traceId === traceId)
      await waitUntil(() => spans().length >= count)
      expect(spans()).toHaveLength(count)
      return spans()
    },
  }
}

const test = testWithSharedService.extend<{ traced: TestService }>({
  traced: [async ({ service }, use) => use(await service.startPeer({ recordSpan })), { scope: 'file' }],
})

const number = expect.any(Number)

describe('each request has one span, a child of the client', () => {
  const query = JSON.stringify({ query: 'query Mine { pet(id: 12345) { id } pets { totalCount nodes { id } } }' })
  const notFound = { 'http.response.status_code': 404, 'error.type': 'NOT_FOUND' }
  const mine = { 'graphql.operation.type': 'query', 'graphql.operation.name': 'Mine', 'error.type': 'NOT_FOUND' }
  const ok = { 'http.response.status_code': 200 }
  test.for([
    ['/v1/pets?limit=3', undefined, 'GET /v1/pets', { 'http.route': '/v1/pets', ...ok }],
    ['/v1/pets/77?a=b', undefined, 'GET /v1/pets/{petId}', { 'http.route': '/v1/pets/{petId}', ...notFound }],
    ['/nothing', undefined, 'GET', notFound],
    ['/graphql', query, 'POST /graphql', { 'http.route': '/graphql', ...ok, ...mine }],
  ] as const)('%s %s: %s', async ([path, body, name, attributes], { traced }) => {
    const client = startClient()
    const method = body ? 'POST' : 'GET'
    const headers = { ...client.headers, tracestate: 'vendor=secret', 'Content-Type': 'application/json' }
    const response = await traced.send(path, { method, headers, body: body ?? null })
    const [span] = await client.spans(1)
    expect(span).toMatchObject({ name, kind: SpanKind.SERVER, status: { code: SpanStatusCode.UNSET } })
    expect(span?.parentSpanContext).toMatchObject({ spanId: client.spanId, isRemote: true })
    expect([span?.parentSpanContext?.traceState, span?.spanContext().traceState]).toEqual([undefined, undefined])
    expect(span?.attributes).toEqual({ 'http.request.method': method, ...attributes, 'petstore.database_ms': number })
    const line = await traced.log.line({ requestId: response.headers.get('x-request-id') })
    expect(span?.attributes['petstore.database_ms']).toBeCloseTo(Number(line.databaseMs), 2)
    const [seconds = 0, nanoseconds = 0] = span?.duration ?? []
    expect(seconds * 1e3 + nanoseconds / 1e6).toBeGreaterThan(Number(line.databaseMs) - 1)
  })

  test('a subscription has one until its client disconnects, without an error', async ({ traced }) => {
    const client = startClient()
    const query = 'subscription { petCreated { cursor } }'
    const stream = await openStream(traced, { query, headers: client.headers })
    await traced.create()
    await stream.received(1)
    stream.close()
    const [span] = await client.spans(1)
    expect(span).toMatchObject({ name: 'POST /graphql', status: { code: SpanStatusCode.UNSET } })
    expect(span?.attributes).toMatchObject({ 'graphql.operation.type': 'subscription' })
    expect(span?.attributes).not.toHaveProperty(['error.type'])
  })

  test('none has a probe or /metrics', async ({ traced }) => {
    const client = startClient()
    for (const path of ['/livez', '/readyz', '/metrics', '/v1/pets'])
      await traced.send(path, { headers: client.headers })
    expect(await client.spans(1)).toMatchObject([{ name: 'GET /v1/pets' }])
  })
})

describe('the span of a request', () => {
  test('contains no API key', async ({ traced }) => {
    const client = startClient()
    const key = mintKey()
    const headers = { ...client.headers, 'X-Request-Id': key, 'User-Agent': key, tracestate: `a=${key}` }
    await traced.send(`/v1/${key}?key=${key}`, { headers })
    await traced.send(`/v1/pets/${key}`, { headers })
    await traced.postGraphQL({ query: `query ${key} { pets { totalCount } }` }, headers)
    const spans = await client.spans(3)
    expect(spans[2]?.attributes['graphql.operation.name']).toBe(`${key.slice(0, 13)}…`)
    const texts = spans.map(({ name, attributes }) => JSON.stringify([name, attributes]))
    expect(texts.join()).not.toContain(key.slice(0, 14))
  })

  test('is the one that the log names, also when the client sent none', async ({ traced }) => {
    for (const headers of [startClient().headers, {}, { traceparent: 'nonsense' }]) {
      const response = await traced.send('/v1/pets', { headers })
      const { traceparent } = await traced.log.line({ requestId: response.headers.get('x-request-id') })
      const span = exporter.getFinishedSpans().at(-1)?.spanContext()
      expect(traceparent).toBe(`00-${span?.traceId}-${span?.spanId}-01`)
    }
  })

  test('is not recorded if the client does not sample, and the log contains the trace id', async ({ traced }) => {
    const before = exporter.getFinishedSpans().length
    const trace = '00-0af7651916cd43dd8448eb211c80319c-'
    const headers = { traceparent: `${trace}b7ad6b7169203331-00`, 'X-Request-Id': 'unsampled' }
    await traced.send('/v1/pets', { headers })
    const { traceparent } = await traced.log.line({ requestId: 'unsampled' })
    expect(exporter.getFinishedSpans()).toHaveLength(before)
    expect(traceparent).toMatch(new RegExp(`^${trace}(?!b7ad6b7169203331)[\\da-f]{16}-00$`))
  })

  test('is an error if the client disconnects before the response', async ({ traced }) => {
    const client = startClient()
    const { pool } = traced.database
    const [span] = await whileLocked(traced, async () => {
      const leave = new AbortController()
      const response = traced.send('/v1/pets', { headers: client.headers, signal: leave.signal })
      await waitUntil(() => pool.totalCount > pool.idleCount)
      leave.abort()
      await expect(response).rejects.toThrow('abort')
      return client.spans(1)
    })
    expect(span).toMatchObject({
      name: 'GET /v1/pets',
      status: { code: SpanStatusCode.ERROR },
      attributes: { 'error.type': 'client_disconnected' },
    })
    expect(span?.attributes).not.toHaveProperty(['http.response.status_code'])
  })

  test('is an error if the request fails because of the service, whatever its status', async ({ traced }) => {
    await traced.database.pool.query('ALTER TABLE animal RENAME TO gone')
    const client = startClient()
    await traced.postGraphQL({ query: '{ pets { nodes { id } } }' }, client.headers)
    await traced.send('/v1/pets', { headers: client.headers })
    await traced.postGraphQL({ query: '{' }, client.headers)
    const spans = await client.spans(3)
    await traced.database.pool.query('ALTER TABLE gone RENAME TO animal')
    const code = 'http.response.status_code'
    const outcomes = spans.map(({ status, attributes }) => [attributes[code], status.code, attributes['error.type']])
    expect(outcomes).toEqual([
      [200, SpanStatusCode.ERROR, 'UNAVAILABLE'],
      [503, SpanStatusCode.ERROR, 'UNAVAILABLE'],
      [400, SpanStatusCode.UNSET, 'GRAPHQL_PARSE_FAILED'],
    ])
  })
})
