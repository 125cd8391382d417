import type { Span, Tracer } from '@opentelemetry/api'
import { context, propagation, ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api'
import type { RequestHandler } from 'express'

const TRACED_METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'CONNECT', 'OPTIONS', 'TRACE'])

const UNTRACED_PATHS = new Set(['/livez', '/readyz', '/metrics'])

/**
 * Starts a server span for each request, as a child of the client's `traceparent` (OpenTelemetry's stable conventions
 * for HTTP servers). Spans contain neither the query, nor headers, nor the client's address.
 */
export function traceRequests(tracer: Tracer): RequestHandler {
  return (req, res, next) => {
    if (UNTRACED_PATHS.has(req.path)) return next()
    const route = req.routeTemplate
    const method = TRACED_METHODS.has(req.method) ? req.method : '_OTHER'
    // Without tracestate (W3C Trace Context §3.3): vendors may put anything there, and this service calls no other.
    const parent = propagation.extract(ROOT_CONTEXT, { traceparent: req.headers.traceparent })
    // Redaction does not see through percent-encoding (RFC 3986 §2.1), which no path of this service needs.
    const path = req.path.includes('%') ? route : req.path
    const attributes = {
      'http.request.method': method,
      ...(method === '_OTHER' && { 'http.request.method_original': req.method }),
      ...(route !== 'other' && { 'http.route': route }),
      ...(path !== 'other' && { 'url.path': path }),
      'url.scheme': req.protocol,
      'network.protocol.version': req.httpVersion,
    }
    const name = (method === '_OTHER' ? 'HTTP' : method) + (route === 'other' ? '' : ` ${route}`)
    const span = tracer.startSpan(name, { kind: SpanKind.SERVER, attributes }, parent)
    const { traceId, spanId, traceFlags } = span.spanContext()
    req.traceparent = `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`
    res.once('close', () => {
      if (res.headersSent) span.setAttribute('http.response.status_code', res.statusCode)
      // The client ends a stream by closing the connection.
      if (!res.writableFinished && !req.stream) markSpanFailed(span, 'client_disconnected', 500)
      else if (res.statusCode >= 500) markSpanFailed(span, req.errorCode ?? String(res.statusCode), res.statusCode)
      span.end()
    })
    context.with(trace.setSpan(parent, span), next)
  }
}

/** 4xx are not span errors (OpenTelemetry HTTP server conventions). */
export function markSpanFailed(span: Span, type: string, status: number): void {
  span.setAttribute('error.type', type)
  if (status >= 500) span.setStatus({ code: SpanStatusCode.ERROR })
}
