import { context, propagation, SpanKind, trace } from '@opentelemetry/api'
import type { ReadableSpan, SpanProcessor } from '@opentelemetry/sdk-trace-base'
import { pino } from 'pino'
import { startTracing } from '../../src/telemetry/tracing.ts'
import { waitUntil } from '../support/timeouts.ts'

/** In the order in which they started: their timestamps have a resolution of a millisecond. */
const begun: ReadableSpan[] = []

const memory: SpanProcessor = {
  onStart: (span) => void begun.push(span),
  onEnd() {},
  forceFlush: () => Promise.resolve(),
  shutdown: () => Promise.resolve(),
}

/** The SDK as the service uses it, with an exporter in memory; one for each test file. */
export const { tracer } = await startTracing({
  exporters: [],
  log: pino({ level: 'silent' }),
  processors: [memory],
})

export type Client = ReturnType<typeof startClient>

/** Starts a client with a trace of its own. */
export function startClient() {
  const span = tracer.startSpan('a client', { kind: SpanKind.CLIENT })
  const within = trace.setSpan(context.active(), span)
  const headers: Record<string, string> = {} // which propagate its trace
  propagation.inject(within, headers)
  const { traceId, spanId } = span.spanContext()
  const isChild = (span: ReadableSpan) => span.spanContext().traceId === traceId && span.spanContext().spanId !== spanId
  return {
    spanId,
    headers,
    /** Waits until no span in its trace is open but its own. @returns them in the order in which they started */
    async spans() {
      const spans = () => begun.filter(isChild)
      await waitUntil(() => spans().every(({ ended }) => ended))
      return spans()
    },
  }
}

/** All ended spans, of all traces. */
export const finished = (): ReadableSpan[] => begun.filter(({ ended }) => ended)

/** `name < parent` for each span. */
export function tree(spans: ReadableSpan[], root: string): string[] {
  const names = new Map(spans.map((span) => [span.spanContext().spanId, span.name]))
  names.set(root, 'client')
  return spans.map(({ name, parentSpanContext }) => `${name} < ${names.get(parentSpanContext?.spanId ?? '') ?? 'none'}`)
}
