import { randomBytes } from 'node:crypto'
import { createServer } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { expect } from 'vitest'
import { provideService, type TestService } from '../support/harness.ts'
import { occupyPort, type ServiceProcess, testWithProcess } from '../support/processes.ts'

interface Collector {
  url: string
  /** Method, path and media type of each request that came, and the bytes of all bodies, as Latin-1. */
  requests: string[]
  bodies: string
  /** The status of its responses; undefined: it never responds. */
  status: number | undefined
  close(): void
}

/** A test with a collector of OpenTelemetry. The programs share the database and the key of the shared service. */
const test = testWithProcess.extend<{ service: TestService; collector: Collector }>({
  service: [provideService, { scope: 'file' }],
  collector: async ({}, use) => {
    const server = createServer(async (req, res) => {
      collector.requests.push(`${req.method} ${req.url} ${req.headers['content-type']}`)
      collector.bodies += (await buffer(req)).toString('latin1')
      if (collector.status) res.writeHead(collector.status).end()
    })
    const { port } = await occupyPort(server)
    const close = () => void server.close().closeAllConnections()
    const collector: Collector = { url: `http://127.0.0.1:${port}`, requests: [], bodies: '', status: 200, close }
    await use(collector)
    close()
  },
})

/** Sends a request with a traceparent. @returns its trace id */
async function sendTraced({ base }: ServiceProcess, key: string): Promise<string> {
  const traceId = randomBytes(16).toString('hex')
  const headers = { Authorization: `Bearer ${key}`, traceparent: `00-${traceId}-b7ad6b7169203331-01` }
  expect((await fetch(`${base}/v1/pets`, { headers })).status).toBe(200)
  return traceId
}

test('a collector receives the span of each request, the last ones at the shutdown', async ({
  sandbox,
  collector,
  service,
}) => {
  const program = await sandbox.start({
    DATABASE_URL: service.databaseUrl,
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
  })
  const traceId = await sendTraced(program, service.key)
  expect(await program.signal('SIGTERM')).toMatchObject({ code: 0 }) // before the next batch is due
  // In Protocol Buffers the name of a span follows the bytes of its ids.
  const [, ...spans] = collector.bodies.split(Buffer.from(traceId, 'hex').toString('latin1'))
  expect(spans.map((span) => /GET \/v1\/pets/.exec(span)?.[0])).toEqual(['GET /v1/pets'])
})

test('OTEL_* variables set the service name, attributes and sampler; the default protocol is protobuf', async ({
  sandbox,
  collector,
  service,
}) => {
  const program = await sandbox.start({
    DATABASE_URL: service.databaseUrl,
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${collector.url}/somewhere`,
    OTEL_TRACES_EXPORTER: 'otlp,console',
    OTEL_SERVICE_NAME: 'pets',
    OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=staging,service.name=no',
    OTEL_TRACES_SAMPLER: 'parentbased_always_off',
  })
  await fetch(`${program.base}/v1/pets`)
  const traceId = await sendTraced(program, service.key)
  const { stdout } = await program.signal('SIGTERM')
  expect(new Set(collector.requests)).toEqual(new Set(['POST /somewhere application/x-protobuf']))
  const traces = [...stdout.matchAll(/traceId: '(\w+)'/g)].map((match) => match[1])
  expect(new Set(traces)).toEqual(new Set([traceId]))
  expect(stdout).toContain("'service.name': 'pets'")
  expect(stdout).toContain("'deployment.environment.name': 'staging'")
})

test.concurrent.for(['is not reachable', 'never responds', 'rejects spans'])(
  'the service is unaffected by a collector that %s',
  async (problem, { sandbox, collector, service }) => {
    if (problem === 'is not reachable') collector.close()
    else collector.status = problem === 'rejects spans' ? 400 : undefined
    const program = await sandbox.start({
      DATABASE_URL: service.databaseUrl,
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_BSP_SCHEDULE_DELAY: '50',
      OTEL_BSP_MAX_QUEUE_SIZE: '10',
      OTEL_BSP_MAX_EXPORT_BATCH_SIZE: '10',
      // Longer than a test may take: the service does not wait for the export when it shuts down.
      OTEL_BSP_EXPORT_TIMEOUT: '600000',
      OTEL_EXPORTER_OTLP_TIMEOUT: '600000',
    })
    for (let i = 0; i < 20; i++) await sendTraced(program, service.key)
    const { stdout, stderr, code } = await program.signal('SIGTERM')
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    // Exports that are tried again have not failed yet.
    const failures = stdout.match(/^\{"level":[45]0.*/gm) ?? []
    expect(failures.length).toBeLessThanOrEqual(1)
    if (problem === 'rejects spans') expect(failures[0]).toMatch(/"err":".*Bad Request.*"msg":"span export failed"/)
  },
)
