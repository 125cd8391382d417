import { SpanKind, type Tracer } from '@opentelemetry/api'
import type { Request } from 'express'
import { ERRORS, toApiError } from '../errors.ts'
import { markSpanFailed } from '../http/tracing.ts'

/**
 * Creates a span for each operation, from parsing to the response (OpenTelemetry's conventions for GraphQL servers). Its
 * name is the operation type: operation names are chosen by clients and unbounded. It does not contain the document.
 */
export function traceOperations<Res>(tracer: Tracer, handle: (req: Request, res: Res) => Promise<void>): typeof handle {
  return (req, res) =>
    tracer.startActiveSpan('GraphQL Operation', { kind: SpanKind.SERVER }, async (span) => {
      try {
        await handle(req, res)
        if (req.errorCode) markSpanFailed(span, req.errorCode, ERRORS[req.errorCode].status)
      } catch (thrown) {
        const { code, status } = toApiError(thrown)
        markSpanFailed(span, code, status)
        throw thrown
      } finally {
        if (req.operation) {
          const { type, name } = req.operation
          span.updateName(type)
          span.setAttributes({ 'graphql.operation.type': type, ...(name && { 'graphql.operation.name': name }) })
        }
        span.end()
      }
    })
}
