import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { waitFor } from '../support/timeouts.ts'

/** A span as OTLP has it in JSON, as far as it is looked at. */
export interface ReceivedSpan {
  traceId: string
  spanId: string
  parentSpanId?: string
  name: string
  kind: number
  service: unknown
  attributes: Record<string, unknown>
}

export interface Collector {
  url: string
  /** Media type of each request that came. */
  types: string[]
  /** The spans of a trace, in any order, as soon as there are as many. */
  spans(traceId: string, count: number): Promise<ReceivedSpan[]>
  close(): void
}

interface KeyValue {
  key: string
  value: Record<string, unknown>
}
interface Payload {
  resourceSpans: {
    resource: { attributes: KeyValue[] }
    scopeSpans: { spans: (Omit<ReceivedSpan, 'attributes'> & { attributes: KeyValue[] })[] }[]
  }[]
}

/**
 * Takes spans as an OpenTelemetry collector does: OTLP over HTTP, of which it understands JSON.
 * @param responds whether it responds to requests
 */
export async function startCollector({ responds = true } = {}): Promise<Collector> {
  const spans: ReceivedSpan[] = []
  const types: string[] = []
  const server = createServer(async (req, res) => {
    const type = String(req.headers['content-type'])
    types.push(`${req.method} ${req.url} ${type}`)
    let body = ''
    for await (const chunk of req) body += String(chunk)
    if (type === 'application/json') spans.push(...read(JSON.parse(body) as Payload)) // OTLP has it so
    if (responds) res.end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo // a TCP server that listens has one
  return {
    url: `http://127.0.0.1:${port}`,
    types,
    spans: (traceId, count) =>
      waitFor(() => {
        const spansOfTrace = spans.filter((span) => span.traceId === traceId)
        if (spansOfTrace.length !== count)
          throw new Error(`${count} spans: ${spansOfTrace.map(({ name }) => name).join()}`)
        return spansOfTrace
      }),
    close() {
      server.close()
      server.closeAllConnections()
    },
  }
}

function read({ resourceSpans }: Payload): ReceivedSpan[] {
  return resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap(({ spans }) =>
      spans.map((span) => ({
        ...span,
        attributes: toObject(span.attributes),
        service: toObject(resource.attributes)['service.name'],
      })),
    ),
  )
}

function toObject(attributes: KeyValue[]): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]))
}
