import { type Span, SpanKind, SpanStatusCode, trace, type Tracer } from '@opentelemetry/api'
import pg from 'pg'

/**
 * pg's client with a span for each statement of a trace (OpenTelemetry's semantic conventions for PostgreSQL). Statements
 * outside a request have none.
 */
export function tracedClient(tracer: Tracer): typeof pg.Client {
  return class extends pg.Client {
    // Replaces all of pg's overloads: text or object, with or without values, callback or promise.
    override query(...args: never[]): never {
      const run = (...given: unknown[]) => super.query(...(given as never as [string])) as unknown
      const text = textOf(args[0])
      if (text === undefined || !trace.getActiveSpan()?.isRecording()) return run(...args) as never

      const attributes = { ...queryAttributes(text), ...connectionAttributes(this) }
      const span = tracer.startSpan(attributes['db.query.summary'], { kind: SpanKind.CLIENT, attributes })
      const callback: unknown = args.at(-1)
      if (typeof callback === 'function') {
        const onResult = (error: unknown, ...result: unknown[]): unknown => {
          endSpan(span, error)
          return callback(error, ...result)
        }
        return run(...args.slice(0, -1), onResult) as never
      }
      const result = run(...args) as Promise<unknown> // pg's return type without a callback
      result.then(
        () => endSpan(span),
        (error: unknown) => endSpan(span, error),
      )
      return result as never
    }
  }
}

/** The text of a statement; undefined for cursors and the like. */
function textOf(query: unknown): string | undefined {
  if (typeof query === 'string') return query
  if (typeof query !== 'object' || query === null || 'submit' in query) return undefined
  return 'text' in query && typeof query.text === 'string' ? query.text : undefined
}

const table = String.raw`\s+((?:"?\w+"?\.)?"?\w+"?)(?!\w|\s*\()`
const targets: Record<string, RegExp> = {
  SELECT: new RegExp(`\\bfrom${table}`, 'i'),
  DELETE: new RegExp(`\\bfrom${table}`, 'i'),
  INSERT: new RegExp(`\\binto${table}`, 'i'),
  UPDATE: new RegExp(`\\bupdate${table}`, 'i'),
}

/** Operation and table of a statement; of one with common table expressions, those of the first that writes. */
export function querySummary(text: string): { operation: string; summary: string } {
  const first = /^\s*(\w+)/.exec(text)?.[1]?.toUpperCase() ?? 'OTHER'
  const operation =
    first === 'WITH' ? (/\b(insert|update|delete)\b/i.exec(text)?.[1]?.toUpperCase() ?? 'SELECT') : first
  const target = targets[operation]?.exec(text)?.[1]?.replaceAll('"', '')
  return { operation, summary: target ? `${operation} ${target}` : operation }
}

function queryAttributes(text: string) {
  const { operation, summary } = querySummary(text)
  return {
    'db.system.name': 'postgresql',
    'db.operation.name': operation,
    'db.query.summary': summary,
    'db.query.text': text, // contains no values: they are parameters
  }
}

/** The server process id identifies the connection in PostgreSQL's log (`%p`), `pg_stat_activity` and `pg_locks`. */
function connectionAttributes(client: pg.Client) {
  const { processID: pid } = client as { processID?: number | null } // its types leave it out
  return {
    ...(client.database && { 'db.namespace': client.database }),
    'server.address': client.host,
    'server.port': client.port,
    ...(pid && { 'postgresql.backend.pid': pid }),
  }
}

/** Ends the span; a failure is recorded as its SQLSTATE, Node's code or its class, because a message may contain values. */
function endSpan(span: Span, error?: unknown): void {
  if (error instanceof Error) {
    const { code } = error as { code?: unknown } // pg's and Node's errors have one
    const type = typeof code === 'string' ? code : error.name
    span.setAttribute('error.type', type).setStatus({ code: SpanStatusCode.ERROR })
    if (error instanceof pg.DatabaseError) span.setAttribute('db.response.status_code', type)
  }
  span.end()
}
