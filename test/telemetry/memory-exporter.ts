import { context, propagation, SpanKind, trace } from '@opentelemetry/api'
import type { ReadableSpan, SpanProcessor } from '@opentelemetry/sdk-trace-base'
import { pino } from 'pino'
import { startTracing } from '../../src/telemetry/tracing.ts'
import { waitFor } from '../support/timeouts.ts'

/** In the order in which they began: their times are no finer than a millisecond. */
const begun: ReadableSpan[] = []

const memory: SpanProcessor = {
  onStart: (span) => void begun.push(span),
  onEnd() {},
  forceFlush: () => Promise.resolve(),
  shutdown: () => Promise.resolve(),
}

/** The SDK as the program has it, with a collector in memory; one for a file of tests. */
export const { tracer } = await startTracing({
  exporters: [],
  protocol: 'http/json',
  version: 'test',
  log: pino({ level: 'silent' }),
  redact: (text) => text.replaceAll('secret', '…'),
  processors: [memory],
})

/** A client in the middle of something of its own. */
export interface Client {
  traceId: string
  spanId: string
  /** What it sends for others to join in. */
  headers: Record<string, string>
  /** Runs something as part of it, in this process. */
  within<T>(work: () => T): T
  /** The spans of its trace, but for its own, in the order in which they began, as soon as there are as many. */
  spans(count: number): Promise<ReadableSpan[]>
}

export function startClient(): Client {
  const span = tracer.startSpan('a client', { kind: SpanKind.CLIENT })
  const within = trace.setSpan(context.active(), span)
  const headers = {}
  propagation.inject(within, headers)
  const { traceId, spanId } = span.spanContext()
  return {
    traceId,
    spanId,
    headers,
    within: (work) => context.with(within, work),
    spans: (count) =>
      waitFor(() => {
        const ours = finished().filter((one) => one.spanContext().traceId === traceId)
        if (ours.length !== count) throw new Error(`${count} spans: ${ours.map(({ name }) => name).join()}`)
        return ours
      }),
  }
}

/** Every span that has ended, of whichever trace. */
export const finished = (): ReadableSpan[] => begun.filter(({ ended }) => ended)

/** `name < name`: each span with the one that it is below. */
export function tree(spans: ReadableSpan[], root: string): string[] {
  const names = new Map(spans.map((span) => [span.spanContext().spanId, span.name]))
  names.set(root, 'client')
  return spans.map(
    ({ name, parentSpanContext }) => `${name} < ${names.get(parentSpanContext?.spanId ?? '') ?? 'nobody'}`,
  )
}
