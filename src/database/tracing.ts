import { context, createContextKey, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api'
import type { Context, Span, Tracer } from '@opentelemetry/api'
import pg from 'pg'

/** pg's overloads of `query` as one: text or object, with or without values. */
interface Queryable {
  query(...args: unknown[]): unknown
}

const SHARED_BY = createContextKey('requests that share a statement')

/**
 * Runs `work` in the trace of the first request that shares its statement. The requests of the others are linked to the
 * statement's span.
 * @param sharedBy the contexts of all requests; read when the statement is sent
 */
export function traceShared<T>(first: Context, sharedBy: () => Context[], work: () => T): T {
  return context.with(first.setValue(SHARED_BY, sharedBy), work)
}

/**
 * pg's client with a span for each statement of a request (OpenTelemetry's semantic conventions for PostgreSQL). It needs
 * the promise of a statement: nothing that serves a request uses callbacks, as `query` of pg's pool does.
 */
export function tracedClient(tracer: Tracer): typeof pg.Client {
  class TracedClient extends pg.Client {}
  const { query }: Queryable = pg.Client.prototype

  function tracedQuery(this: pg.Client, ...args: unknown[]): unknown {
    if (!trace.getActiveSpan()?.isRecording()) return query.apply(this, args)

    const statement = args[0] as string | pg.QueryConfig // nothing here submits a cursor
    const text = typeof statement === 'string' ? statement : statement.text
    const { operation, summary } = querySummary(text)
    const pid = 'processID' in this && this.processID // missing in pg's types
    const attributes = {
      'db.system.name': 'postgresql',
      'db.operation.name': operation,
      'db.query.summary': summary,
      'db.query.text': text, // contains no values: these are parameters
      ...(this.database && { 'db.namespace': this.database }),
      'server.address': this.host,
      'server.port': this.port,
      ...(typeof pid === 'number' && { 'postgresql.backend.pid': pid }), // as in PostgreSQL's log and pg_stat_activity
    }
    const span = tracer.startSpan(summary, { kind: SpanKind.CLIENT, attributes })
    linkRequests(span)
    const result = query.apply(this, args)
    Promise.resolve(result).then(
      () => endSpan(span),
      (error: unknown) => endSpan(span, error),
    )
    return result
  }

  Object.assign(TracedClient.prototype, { query: tracedQuery })
  return TracedClient
}

function linkRequests(span: Span): void {
  const sharedBy = context.active().getValue(SHARED_BY) as (() => Context[]) | undefined // traceShared sets it
  const requests = sharedBy?.() ?? []
  if (requests.length < 2) return
  span.setAttribute('db.operation.batch.size', requests.length)
  for (const request of requests) trace.getSpan(request)?.addLink({ context: span.spanContext() })
}

/** What follows FROM, INTO or UPDATE, unless it is a function or a subquery. */
const TABLE = /\b(?:from|into|update)\s+((?:"?\w+"?\.)?"?\w+"?)(?!\w|\s*\()/i

/** The operation and table of a statement; with common table expressions, those of the first one that writes. */
function querySummary(text: string): { operation: string; summary: string } {
  const statement = text.replace(/^\s*with\b[^]*?\b(?=(?:insert|update|delete)\b)/i, '')
  const operation = /^\s*(\w+)/.exec(statement)?.[1]?.toUpperCase() ?? 'OTHER'
  const table = TABLE.exec(statement)?.[1]?.replaceAll('"', '')
  return { operation, summary: table ? `${operation} ${table}` : operation }
}

/** Ends the span. Of a failure it records SQLSTATE, Node's code or the class; a message may contain values. */
function endSpan(span: Span, error?: unknown): void {
  if (error instanceof Error) {
    const type = 'code' in error && typeof error.code === 'string' ? error.code : error.name
    span.setAttribute('error.type', type).setStatus({ code: SpanStatusCode.ERROR })
    if (error instanceof pg.DatabaseError) span.setAttribute('db.response.status_code', type)
  }
  span.end()
}
