import { context, diag, DiagLogLevel, propagation, type Tracer } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { setGlobalErrorHandler, W3CTraceContextPropagator } from '@opentelemetry/core'
import { defaultResource, detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources'
import {
  BasicTracerProvider,
  BatchSpanProcessor,
  ConsoleSpanExporter,
  SimpleSpanProcessor,
  type SpanProcessor,
} from '@opentelemetry/sdk-trace-base'
import type { Logger } from 'pino'
import type { TracingConfig } from './tracing-config.ts'

/** Trouble with the collector is told once in this time, in milliseconds: it is not the service's own. */
const WARN_INTERVAL_MS = 60_000

export interface Tracing {
  tracer: Tracer
  /** Sends what is left. Gives up after a while, in milliseconds: no collector keeps the service from ending. */
  stop(timeoutMs: number): Promise<void>
}

export interface TracingOptions extends Pick<TracingConfig, 'exporters' | 'protocol'> {
  version: string
  log: Logger
  /** Takes out of a text what nobody may see. */
  redact(text: string): string
  /** Processors in place of those that send. */
  processors?: SpanProcessor[]
}

/**
 * Starts the OpenTelemetry SDK, which reads most OTEL_* variables itself: sampler, resource, limits, batches, collector.
 * Loaded only when traces are wanted: with it, Node keeps a context for every promise.
 */
export async function startTracing(options: TracingOptions): Promise<Tracing> {
  const { version, log, redact } = options
  const tell = throttle((err: unknown) => log.warn({ err }, 'traces are lost'))
  setGlobalErrorHandler(tell)
  const quiet = () => {}
  const logger = { error: tell, warn: tell, info: quiet, debug: quiet, verbose: quiet }
  diag.setLogger(logger, { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true })
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  propagation.setGlobalPropagator(new W3CTraceContextPropagator())

  const ours = resourceFromAttributes({ 'service.name': 'pet-store', 'service.version': version })
  const provider = new BasicTracerProvider({
    resource: defaultResource()
      .merge(ours)
      .merge(detectResources({ detectors: [envDetector] })),
    spanProcessors: [redactingProcessor(redact), ...(options.processors ?? (await createProcessors(options)))],
  })
  return {
    tracer: provider.getTracer('pet-store', version),
    async stop(timeoutMs) {
      let timer: NodeJS.Timeout | undefined
      const tooLong = new Promise<void>((resolve) => {
        timer = setTimeout(resolve, timeoutMs)
      })
      await Promise.race([provider.shutdown().catch(tell), tooLong])
      clearTimeout(timer)
    },
  }
}

function createProcessors({ exporters, protocol }: TracingOptions): Promise<SpanProcessor[]> {
  return Promise.all(
    exporters.map(async (exporter) => {
      if (exporter === 'console') return new SimpleSpanProcessor(new ConsoleSpanExporter())
      const { OTLPTraceExporter } =
        protocol === 'http/json'
          ? await import('@opentelemetry/exporter-trace-otlp-http')
          : await import('@opentelemetry/exporter-trace-otlp-proto')
      return new BatchSpanProcessor(new OTLPTraceExporter())
    }),
  )
}

/** Applies to all that a span tells: a path or the name of an operation is the client's, whatever it puts there. */
function redactingProcessor(redact: (text: string) => string): SpanProcessor {
  return {
    onStart() {},
    onEnding(span) {
      for (const [name, value] of Object.entries(span.attributes)) {
        if (typeof value === 'string' && redact(value) !== value) span.setAttribute(name, redact(value))
      }
    },
    onEnd() {},
    forceFlush: () => Promise.resolve(),
    shutdown: () => Promise.resolve(),
  }
}

function throttle(tell: (what: unknown) => void): (what: unknown) => void {
  let toldAt = -Infinity
  return (what) => {
    if (performance.now() - toldAt < WARN_INTERVAL_MS) return
    toldAt = performance.now()
    tell(what)
  }
}
