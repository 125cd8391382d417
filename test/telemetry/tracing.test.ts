import { randomBytes } from 'node:crypto'
import { createServer } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { diag } from '@opentelemetry/api'
import { pino } from 'pino'
import { expect, onTestFinished, vi } from 'vitest'
import { startTracing } from '../../src/telemetry/tracing.ts'
import { type TestService, testWithSharedService as test } from '../support/harness.ts'
import { collectLog } from '../support/output.ts'
import { occupyPort } from '../support/processes.ts'

const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1' }

/** Starts tracing with these variables, some of which the SDK reads itself. */
async function start(env: NodeJS.ProcessEnv) {
  diag.disable() // which another file of this process may have set
  for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value)
  onTestFinished(() => void vi.unstubAllEnvs())
  const log = collectLog()
  return { tracing: await startTracing(env, pino({}, log)), log }
}

test.for([
  [{}, false],
  [endpoint, true],
  [{ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://127.0.0.1:1/v1/traces' }, true],
  [{ OTEL_TRACES_EXPORTER: 'console, otlp' }, true],
  [{ ...endpoint, OTEL_TRACES_EXPORTER: 'none' }, false],
  [{ ...endpoint, OTEL_SDK_DISABLED: 'TRUE' }, false],
  [{ ...endpoint, OTEL_SDK_DISABLED: '' }, true],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: '', OTEL_TRACES_EXPORTER: ' ' }, false],
  [{ OTEL_SERVICE_NAME: 'pets', OTEL_TRACES_SAMPLER: 'always_on' }, false],
  [{ OTEL_TRACES_EXPORTER: 'zipkin,otlp' }, true, 'OTEL_TRACES_EXPORTER: zipkin is not supported'],
] as const)('the standard OTEL_* variables enable tracing: %j: %j', async ([env, isOn, ...messages]) => {
  const { tracing, log } = await start(env)
  await tracing?.stop()
  expect([tracing !== undefined, log.lines.map(({ msg }) => msg)]).toEqual([isOn, messages])
})

/** Starts a collector, which never responds without a status. @returns its URL, and all that it receives, as Latin-1 */
async function startCollector(status?: number) {
  const received: string[] = []
  const server = createServer(async (req, res) => {
    received.push(`${req.url} ${req.headers['content-type']} ${(await buffer(req)).toString('latin1')}`)
    if (status) res.writeHead(status).end()
  })
  const { port } = await occupyPort(server)
  onTestFinished(() => server.close().closeAllConnections())
  return { url: `http://127.0.0.1:${port}`, received }
}

/** Sends a request with a traceparent, until its span is recorded. @returns its trace id */
async function sendTraced({ send, log }: TestService): Promise<string> {
  const traceId = randomBytes(16).toString('hex')
  const response = await send('/v1/pets', { headers: { traceparent: `00-${traceId}-b7ad6b7169203331-01` } })
  await log.line({ requestId: response.headers.get('x-request-id') })
  return traceId
}

test('a collector receives the span of each request, the last ones at the stop', async ({ service }) => {
  const { url, received } = await startCollector(200)
  const variables = { OTEL_SERVICE_NAME: 'shop', OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=staging' }
  const { tracing } = await start({ OTEL_EXPORTER_OTLP_ENDPOINT: url, ...variables })
  const traceId = await sendTraced(await service.startPeer({ recordSpan: tracing?.recordSpan }))
  await tracing?.stop() // before the next batch is due
  // In Protocol Buffers the name of a span follows the bytes of its ids.
  const [resource, ...spans] = received.join().split(Buffer.from(traceId, 'hex').toString('latin1'))
  expect(resource).toMatch(/^\/v1\/traces application\/x-protobuf [^]*staging[^]*shop/)
  expect(spans.map((span) => /GET \/v1\/pets/.exec(span)?.[0])).toEqual(['GET /v1/pets'])
})

test.for([
  ['never responds', undefined, 0],
  ['rejects spans', 400, 1],
] as const)(
  'a collector that %s delays neither requests nor the stop, and is logged at most once a minute',
  async ([, status, warnings], { service }) => {
    const { url } = await startCollector(status)
    const { tracing, log } = await start({
      OTEL_EXPORTER_OTLP_ENDPOINT: url,
      OTEL_BSP_SCHEDULE_DELAY: '50',
      OTEL_BSP_MAX_QUEUE_SIZE: '10',
      OTEL_BSP_MAX_EXPORT_BATCH_SIZE: '10',
      OTEL_BSP_EXPORT_TIMEOUT: '600000', // longer than a test may take
      OTEL_EXPORTER_OTLP_TIMEOUT: '600000',
    })
    const peer = await service.startPeer({ recordSpan: tracing?.recordSpan })
    for (let n = 0; n < 20; n++) await sendTraced(peer)
    await tracing?.stop()
    expect(log.lines.filter(({ msg }) => msg === 'span export failed')).toHaveLength(warnings)
  },
)
