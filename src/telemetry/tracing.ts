import { setTimeout as sleep } from 'node:timers/promises'
import { context, diag, DiagLogLevel, propagation } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { setGlobalErrorHandler, W3CTraceContextPropagator } from '@opentelemetry/core'
import { defaultResource, detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources'
import { BasicTracerProvider, BatchSpanProcessor, ConsoleSpanExporter } from '@opentelemetry/sdk-trace-base'
import { SimpleSpanProcessor, type SpanProcessor } from '@opentelemetry/sdk-trace-base'
import type { Logger } from 'pino'
import { version } from '../project.ts'
import { redactKeys, createThrottledLog } from './logger.ts'
import { type Exporter, TRACING_STOP_TIMEOUT_MS } from './tracing-config.ts'

interface TracingOptions {
  exporters: Exporter[]
  log: Logger
  /** Processors instead of those of the exporters, for tests. */
  processors?: SpanProcessor[]
}

/**
 * Starts the OpenTelemetry SDK, which reads most OTEL_* variables itself: sampler, resource, limits, batches, collector.
 * Import this module only to trace: loading the SDK makes Node track a context for every promise.
 */
export async function startTracing(options: TracingOptions) {
  const warnThrottled = createThrottledLog(options.log, 60_000)
  const warn = (err: unknown) => warnThrottled('span export failed', { err })
  const noop = () => {}
  setGlobalErrorHandler(warn)
  const logger = { error: warn, warn, info: noop, debug: noop, verbose: noop }
  diag.setLogger(logger, { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true })
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  propagation.setGlobalPropagator(new W3CTraceContextPropagator())

  const provider = new BasicTracerProvider({
    resource: defaultResource()
      .merge(resourceFromAttributes({ 'service.name': 'pet-store', 'service.version': version }))
      .merge(detectResources({ detectors: [envDetector] })),
    spanProcessors: [redactingProcessor, ...(options.processors ?? (await createProcessors(options.exporters)))],
  })
  return {
    tracer: provider.getTracer('pet-store', version),
    /** Sends the remaining spans. Gives up after a timeout, so that a collector cannot prevent the shutdown. */
    async stop(): Promise<void> {
      await Promise.race([provider.shutdown().catch(warn), sleep(TRACING_STOP_TIMEOUT_MS)])
    },
  }
}

function createProcessors(exporters: Exporter[]): Promise<SpanProcessor[]> {
  return Promise.all(
    exporters.map(async (exporter) => {
      if (exporter === 'console') return new SimpleSpanProcessor(new ConsoleSpanExporter())
      const { OTLPTraceExporter } = await import('@opentelemetry/exporter-trace-otlp-proto')
      return new BatchSpanProcessor(new OTLPTraceExporter())
    }),
  )
}

/** Redacts API keys in attributes: paths and operation names come from clients, which may put anything there. */
const redactingProcessor: SpanProcessor = {
  onStart() {},
  onEnding(span) {
    for (const [name, value] of Object.entries(span.attributes)) {
      if (typeof value === 'string' && redactKeys(value) !== value) span.setAttribute(name, redactKeys(value))
    }
  },
  onEnd() {},
  forceFlush: () => Promise.resolve(),
  shutdown: () => Promise.resolve(),
}
