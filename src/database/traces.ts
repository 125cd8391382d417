import { context, type Span, SpanKind, SpanStatusCode, trace, type Tracer } from '@opentelemetry/api'
import pg from 'pg'

/**
 * pg's pool and client with a span for each statement of a trace (OpenTelemetry's conventions for PostgreSQL, stable).
 * What is asked outside of a request has none.
 */
export function tracedPg(tracer: Tracer): Pick<typeof pg, 'Pool' | 'Client'> {
  class Pool extends pg.Pool {
    /** Whoever waited for a connection goes on in its own trace, not in that of the one who gave it back. */
    override connect(...args: never[]): never {
      const [callback] = args as (() => void)[] // none, or the only one
      return super.connect(...((callback ? [context.bind(context.active(), callback)] : []) as [])) as never
    }
  }

  class Client extends pg.Client {
    // Stands in for all the forms that pg knows: text or object, with values or without, callback or promise.
    override query(...args: never[]): never {
      const ask = (...given: unknown[]) => super.query(...(given as never as [string])) as unknown
      const text = textOf(args[0])
      if (text === undefined || !trace.getActiveSpan()?.isRecording()) return ask(...args) as never

      const attributes = { ...describe(text), ...whereabouts(this) }
      const span = tracer.startSpan(attributes['db.query.summary'], { kind: SpanKind.CLIENT, attributes })
      const callback: unknown = args.at(-1)
      if (typeof callback === 'function') {
        const told = (error: unknown, ...result: unknown[]): unknown => {
          end(span, error)
          return callback(error, ...result)
        }
        return ask(...args.slice(0, -1), told) as never
      }
      const result = ask(...args) as Promise<unknown> // as pg has it without a callback
      result.then(
        () => end(span),
        (error: unknown) => end(span, error),
      )
      return result as never
    }
  }
  return { Pool, Client }
}

/** Nothing for cursors and the like, which are no statement. */
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

/** What a statement does and to which table, in two words; of one in several parts, the first that writes. */
export function summaryOf(text: string): { operation: string; summary: string } {
  const first = /^\s*(\w+)/.exec(text)?.[1]?.toUpperCase() ?? 'OTHER'
  const operation =
    first === 'WITH' ? (/\b(insert|update|delete)\b/i.exec(text)?.[1]?.toUpperCase() ?? 'SELECT') : first
  const target = targets[operation]?.exec(text)?.[1]?.replaceAll('"', '')
  return { operation, summary: target ? `${operation} ${target}` : operation }
}

function describe(text: string) {
  const { operation, summary } = summaryOf(text)
  return {
    'db.system.name': 'postgresql',
    'db.operation.name': operation,
    'db.query.summary': summary,
    'db.query.text': text, // values are sent beside it
  }
}

/** The process is what PostgreSQL's log (`%p`), `pg_stat_activity` and `pg_locks` know a connection by. */
function whereabouts(client: pg.Client) {
  const { processID: pid } = client as { processID?: number | null } // its types leave it out
  return {
    ...(client.database && { 'db.namespace': client.database }),
    'server.address': client.host,
    'server.port': client.port,
    ...(pid && { 'postgresql.backend.pid': pid }),
  }
}

/** What a failure is told by: SQLSTATE, Node's code, or the kind of error. Its message may have values in it. */
function end(span: Span, error?: unknown): void {
  if (error instanceof Error) {
    const { code } = error as { code?: unknown } // pg's and Node's errors have one
    const type = typeof code === 'string' ? code : error.name
    span.setAttribute('error.type', type).setStatus({ code: SpanStatusCode.ERROR })
    if (error instanceof pg.DatabaseError) span.setAttribute('db.response.status_code', type)
  }
  span.end()
}
