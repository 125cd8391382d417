import { SpanKind, type Tracer } from '@opentelemetry/api'
import type { Request, Response } from 'express'
import { ERRORS, toApiError } from '../errors.ts'
import { markSpanFailed } from '../http/tracing.ts'
import type { GraphQLParams } from './params.ts'

type Answer = (req: Request, res: Response, params: GraphQLParams) => Promise<void>

/**
 * A span for each operation, from parsing to the answer (OpenTelemetry's conventions for GraphQL servers). It is named
 * after the type: the name of an operation is the client's, of which there may be any number. The document stays out.
 */
export function traceOperations(tracer: Tracer, answer: Answer): Answer {
  return (req, res, params) =>
    tracer.startActiveSpan('GraphQL Operation', { kind: SpanKind.SERVER }, async (span) => {
      try {
        await answer(req, res, params)
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
