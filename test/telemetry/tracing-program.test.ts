import { randomBytes } from 'node:crypto'
import { describe, expect } from 'vitest'
import { issueKey } from '../chaos/cluster.ts'
import { cloneDatabase, dropDatabase } from '../support/harness.ts'
import { recordKey } from '../support/output.ts'
import {
  unreachableDatabaseUrl,
  type Sandbox,
  type ServiceProcess,
  testWithProcess as base,
} from '../support/processes.ts'
import { type Collector, type ReceivedSpan, startCollector } from './collector.ts'

/** `test` with a collector of its own, and a database with a key that all tests of the file share. */
const test = base.extend<{ collector: Collector; env: { DATABASE_URL: string }; key: string }>({
  // Vitest reads the fixture's first parameter and wants a pattern there.
  // oxlint-disable-next-line no-empty-pattern
  collector: async ({}, use) => {
    const collector = await startCollector()
    await use(collector)
    collector.close()
  },
  env: [
    // oxlint-disable-next-line no-empty-pattern
    async ({}, use) => {
      const DATABASE_URL = await cloneDatabase()
      await use({ DATABASE_URL })
      await dropDatabase(DATABASE_URL)
    },
    { scope: 'file' },
  ],
  key: [async ({ env }, use) => use(recordKey(await issueKey(env.DATABASE_URL))), { scope: 'file' }],
})

/** Sends a request with a traceparent. */
async function sendTraced({ base }: ServiceProcess, key: string, path: string, body?: object) {
  const [traceId, spanId] = [randomBytes(16).toString('hex'), randomBytes(8).toString('hex')]
  const { status } = await fetch(base + path, {
    method: body ? 'POST' : 'GET',
    headers: {
      Authorization: `Bearer ${key}`,
      traceparent: `00-${traceId}-${spanId}-01`,
      ...(body && { 'Content-Type': 'application/json' }),
    },
    ...(body && { body: JSON.stringify(body) }),
  })
  return { traceId, spanId, status }
}

/** `name < parent` for each span. */
function tree(spans: ReceivedSpan[], root: string): string[] {
  const names = new Map([[root, 'client'], ...spans.map(({ spanId, name }) => [spanId, name] as const)])
  return spans.map(({ name, parentSpanId = '' }) => `${name} < ${names.get(parentSpanId) ?? 'none'}`).sort()
}

/** The JSON lines of the log. */
function linesOf(stdout: string): Record<string, unknown>[] {
  return stdout.split('\n').flatMap((line) => (line.startsWith('{') ? [JSON.parse(line)] : []))
}

test('a collector receives one trace from the client to PostgreSQL for both APIs, and the log has its id', async ({
  sandbox,
  collector,
  env,
  key,
}) => {
  const OTEL = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json' }
  const service = await sandbox.start({ ...env, ...OTEL })
  const rest = await sendTraced(service, key, '/v1/pets')
  const graphql = await sendTraced(service, key, '/graphql', { query: '{ pets { nodes { id } } }' })
  const withKey = await sendTraced(service, key, `/v1/pets/${key}`)
  // Before the next batch is due: shutdown sends the remaining spans.
  const { stdout, code } = await service.signal('SIGTERM')
  expect(code).toBe(0)

  const restSpans = await collector.spans(rest.traceId, 3)
  expect(tree(restSpans, rest.spanId)).toEqual([
    'GET /v1/pets < client',
    'SELECT public.animal < GET /v1/pets',
    'SELECT public.api_key < GET /v1/pets',
  ])
  const graphqlSpans = await collector.spans(graphql.traceId, 3)
  expect(tree(graphqlSpans, graphql.spanId)).toEqual([
    'POST /graphql < client',
    'SELECT public.animal < query',
    'query < POST /graphql',
  ])
  expect(new Set(restSpans.map((span) => span.service))).toEqual(new Set(['pet-store']))
  const [span] = await collector.spans(withKey.traceId, 1)
  expect(span?.attributes['url.path']).toBe(`/v1/pets/${key.slice(0, 13)}…`)

  const server = restSpans.find(({ name }) => name === 'GET /v1/pets')
  const logged = linesOf(stdout).find(({ route }) => route === '/v1/pets')
  expect(logged?.traceparent).toBe(`00-${rest.traceId}-${server?.spanId}-01`)
})

test('OTEL_* variables set the service name, attributes and sampler; the default protocol is protobuf', async ({
  sandbox,
  collector,
  env,
  key,
}) => {
  const OTEL = {
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${collector.url}/somewhere`,
    OTEL_TRACES_EXPORTER: 'otlp,console',
    OTEL_SERVICE_NAME: 'pets',
    OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=staging,service.name=no',
    OTEL_TRACES_SAMPLER: 'parentbased_always_off',
  }
  const service = await sandbox.start({ ...env, ...OTEL })
  await fetch(`${service.base}/v1/pets`)
  const { traceId } = await sendTraced(service, key, '/v1/pets')
  const { stdout } = await service.signal('SIGTERM')
  expect(new Set(collector.types)).toEqual(new Set(['POST /somewhere application/x-protobuf']))
  const traces = [...stdout.matchAll(/traceId: '(\w+)'/g)].map((match) => match[1])
  expect(new Set(traces)).toEqual(new Set([traceId]))
  expect(stdout).toContain("'service.name': 'pets'")
  expect(stdout).toContain("'deployment.environment.name': 'staging'")
})

describe('the service is unaffected by a collector', { concurrent: true }, () => {
  const expectUnaffected = async (sandbox: Sandbox, key: string, env: Record<string, string>) => {
    const service = await sandbox.start({
      ...env,
      OTEL_BSP_SCHEDULE_DELAY: '50',
      OTEL_BSP_MAX_QUEUE_SIZE: '10',
      // Longer than a test may take: the service does not wait for the export when it shuts down.
      OTEL_BSP_EXPORT_TIMEOUT: '600000',
      OTEL_EXPORTER_OTLP_TIMEOUT: '600000',
    })
    for (let i = 0; i < 20; i++) expect((await sendTraced(service, key, '/v1/pets')).status).toBe(200)
    const { stdout, stderr, code } = await service.signal('SIGTERM')
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(linesOf(stdout).filter(({ level }) => Number(level) > 30).length).toBeLessThanOrEqual(1)
  }

  test('that is not reachable', async ({ sandbox, env, key }) => {
    const { port } = new URL(await unreachableDatabaseUrl())
    await expectUnaffected(sandbox, key, { ...env, OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}` })
  })

  test('that never responds', async ({ sandbox, env, key, onTestFinished }) => {
    const hanging = await startCollector({ responds: false })
    onTestFinished(() => hanging.close())
    await expectUnaffected(sandbox, key, { ...env, OTEL_EXPORTER_OTLP_ENDPOINT: hanging.url })
  })
})
