import { setTimeout as sleep } from 'node:timers/promises'
import { diag, DiagLogLevel, ROOT_CONTEXT, SpanKind, SpanStatusCode, trace, type Tracer } from '@opentelemetry/api'
import type { Request, Response } from 'express'
import type { Logger } from 'pino'
import { ERRORS } from '../errors.ts'
import { NAMESPACE, SERVICE_NAME, VERSION } from '../project.ts'
import { createThrottledLog } from './logger.ts'

/** How long shutdown waits for the last spans to be sent, in milliseconds. */
export const TRACING_STOP_TIMEOUT_MS = 2_000

/** Trace id, parent id and flags (W3C Trace Context §3.2: ids of zeros and version ff are invalid). */
export const TRACEPARENT = /^(?!ff)[\da-f]{2}-((?!0{32})[\da-f]{32})-((?!0{16})[\da-f]{16})-([\da-f]{2})$/

/** Starts tracing if it is on (decision 15). Only then is OpenTelemetry's SDK loaded, which reads the other OTEL_* itself. */
export async function startTracing(env: NodeJS.ProcessEnv, log: Logger) {
  const exporters = exportersOf(env)
  if (!exporters.length) return undefined
  const sdk = await import('@opentelemetry/sdk-trace-base')
  const resources = await import('@opentelemetry/resources')
  const { OTLPTraceExporter } = await import('@opentelemetry/exporter-trace-otlp-proto')
  const warnThrottled = createThrottledLog(log, 60_000)
  const warn = (err: unknown) => warnThrottled('span export failed', { err })
  diag.setLogger({ error: warn, warn, info() {}, debug() {}, verbose() {} }, DiagLogLevel.WARN)
  const spanProcessors = []
  for (const name of exporters) {
    if (name === 'otlp') spanProcessors.push(new sdk.BatchSpanProcessor(new OTLPTraceExporter()))
    else if (name === 'console') spanProcessors.push(new sdk.SimpleSpanProcessor(new sdk.ConsoleSpanExporter()))
    else log.warn(`OTEL_TRACES_EXPORTER: ${name} is not supported`)
  }
  const own = resources.resourceFromAttributes({ 'service.name': SERVICE_NAME, 'service.version': VERSION })
  const defaults = resources.defaultResource().merge(own)
  const resource = defaults.merge(resources.detectResources({ detectors: [resources.envDetector] }))
  const provider = new sdk.BasicTracerProvider({ resource, spanProcessors })
  return {
    recordSpan: createRecordSpan(provider.getTracer(SERVICE_NAME, VERSION)),
    /** Sends the remaining spans. Gives up after a timeout, so that a collector cannot prevent the shutdown. */
    stop: () => Promise.race([provider.shutdown().catch(warn), sleep(TRACING_STOP_TIMEOUT_MS)]),
  }
}

/** Tracing is on if an exporter or the URL of a collector is set and the SDK is not disabled. */
function exportersOf(env: NodeJS.ProcessEnv): string[] {
  const read = (...names: string[]) => names.map((name) => env[name]?.trim()).find(Boolean)
  if (read('OTEL_SDK_DISABLED')?.toLowerCase() === 'true') return []
  const endpoint = read('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', 'OTEL_EXPORTER_OTLP_ENDPOINT')
  const names = (read('OTEL_TRACES_EXPORTER') ?? (endpoint ? 'otlp' : 'none')).split(',')
  return names.map((name) => name.trim()).filter((name) => name !== 'none')
}

export type RecordSpan = ReturnType<typeof createRecordSpan>

/** @returns a function that records a request that has ended. It returns the span's traceparent, if the route has spans */
export function createRecordSpan(tracer: Tracer) {
  return (req: Request, res: Response): string | undefined => {
    const { routeTemplate: route, method, operation, deadline, errorCode } = req
    if (['/livez', '/readyz', '/metrics'].includes(route)) return undefined
    const [, traceId = '', spanId = '', flags] = TRACEPARENT.exec(String(req.headers.traceparent)) ?? []
    // The SDK ignores empty ids. tracestate is not read: it may contain anything, and this service calls no other service.
    const client = { traceId, spanId, traceFlags: Number(`0x${flags}`), isRemote: true }
    const parent = trace.setSpanContext(ROOT_CONTEXT, client)
    const isDisconnected = !res.writableFinished && !req.stream // the client ends a stream by closing the connection
    const attributes = {
      'http.request.method': method,
      'http.route': route === 'other' ? undefined : route,
      'http.response.status_code': res.headersSent ? res.statusCode : undefined,
      'graphql.operation.type': operation?.type,
      'graphql.operation.name': operation?.name, // chosen by the client; keys in it are redacted
      'error.type': isDisconnected ? 'client_disconnected' : errorCode,
      [`${NAMESPACE}.database_ms`]: deadline.databaseMs,
    }
    const startTime = Date.now() - deadline.elapsedMs
    const name = route === 'other' ? method : `${method} ${route}`
    const span = tracer.startSpan(name, { kind: SpanKind.SERVER, startTime, attributes }, parent)
    if (isDisconnected || (errorCode && ERRORS[errorCode].status >= 500)) span.setStatus({ code: SpanStatusCode.ERROR })
    span.end()
    const own = span.spanContext()
    return `00-${own.traceId}-${own.spanId}-0${own.traceFlags}` // the SDK sets no other flag than that of sampling
  }
}
