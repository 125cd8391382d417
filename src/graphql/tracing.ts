import { SpanKind, type Tracer } from '@opentelemetry/api'
import type { RequestHandler } from 'express'
import { ERRORS } from '../errors.ts'
import { markSpanFailed } from '../http/tracing.ts'

/**
 * Creates a span for each operation, from parsing to the end of the response (OpenTelemetry's conventions for GraphQL
 * servers). Its name is the operation type: operation names are chosen by clients and unbounded. It does not contain the
 * document.
 */
export function traceOperations(tracer: Tracer): RequestHandler {
  return (req, res, next) =>
    tracer.startActiveSpan('GraphQL Operation', { kind: SpanKind.SERVER }, (span) => {
      res.once('close', () => {
        if (req.errorCode) markSpanFailed(span, req.errorCode, ERRORS[req.errorCode].status)
        if (req.operation) {
          const { type, name } = req.operation
          span.updateName(type)
          span.setAttributes({ 'graphql.operation.type': type, ...(name && { 'graphql.operation.name': name }) })
        }
        span.end()
      })
      next()
    })
}
