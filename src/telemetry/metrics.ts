import { type RequestHandler, Router } from 'express'
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client'
import { ApiError } from '../errors.ts'
import { allowMethods } from '../http/methods.ts'

/** What is measured elsewhere and read when metrics are asked for. */
export interface MetricSources {
  version: string
  pool(): { totalCount: number; idleCount: number; waitingCount: number }
  /** Most connections that the pool may open. */
  max: number
  /** Keys that were looked up: from memory, and in the database. */
  keyLookups: Counts
  /** Requests refused because there were too many, by the reason. */
  shed: Counts
  /** Requests refused because a budget was spent, by the budget's name. */
  limited(): Counts
  /** Where several processes serve as one: how to get the metrics of all, or undefined when some are missing. */
  gather?: ((own: Registry) => () => Promise<string | undefined>) | undefined
}

type Counts = Readonly<Record<string, number>>

interface Observation {
  route: string
  method: string
  /** Type of the GraphQL operation. */
  operation: string | undefined
  status: number
  code: string | undefined
  seconds: number
}

export type Metrics = ReturnType<typeof createMetrics>

/** Methods with a series of their own. */
const TRACKED_METHODS = new Set(['GET', 'HEAD', 'POST', 'OPTIONS'])

/** At most so many keys have a series of their own; the others share one. */
const MAX_KEYS = 1_000

/** What the service tells Prometheus. Every label has few values: templates, not paths; types, not names. */
export function createMetrics({ version, pool, max, keyLookups, shed, limited, gather }: MetricSources) {
  const registry = new Registry()
  const registers = [registry]
  const counter = <L extends string>(name: string, help: string, ...labelNames: L[]) =>
    new Counter({ name, help, labelNames, registers })
  const gaugeFrom = (name: string, help: string, collect: () => number) =>
    new Gauge({
      name,
      help,
      registers,
      collect() {
        this.set(collect())
      },
    })

  const counterFrom = (name: string, help: string, label: string, counts: () => Counts) =>
    new Counter({
      name,
      help,
      labelNames: [label],
      registers,
      collect() {
        this.reset()
        for (const [value, count] of Object.entries(counts())) this.inc({ [label]: value }, count)
      },
    })

  collectDefaultMetrics({ register: registry })
  new Gauge({
    name: 'petstore_build_info',
    help: 'Always 1.',
    labelNames: ['version', 'node'],
    registers,
    aggregator: 'first',
  })
    .labels(version, process.version)
    .set(1)
  gaugeFrom('petstore_database_connections', 'Open connections to the database.', () => pool().totalCount)
  gaugeFrom(
    'petstore_database_connections_busy',
    'Those of them that are in use.',
    () => pool().totalCount - pool().idleCount,
  )
  gaugeFrom('petstore_database_connections_max', 'Most that there may be.', () => max)
  gaugeFrom('petstore_database_queue_length', 'Requests that wait for a connection.', () => pool().waitingCount)
  counterFrom(
    'petstore_key_lookups_total',
    'Keys looked up: hit in memory, miss in the database.',
    'result',
    () => keyLookups,
  )
  counterFrom('petstore_shed_total', 'Requests refused because there were too many.', 'reason', () => shed)
  counterFrom('petstore_rate_limited_total', 'Requests refused because a budget was spent.', 'budget', limited)
  const durations = new Histogram({
    name: 'petstore_request_duration_seconds',
    help: 'From the headers of a request to the end of its answer. operation is the type of the GraphQL operation.',
    labelNames: ['route', 'method', 'operation', 'status'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5],
    registers,
  })
  const errors = counter('petstore_errors_total', 'Requests that went wrong, by the code of the error.', 'code')
  const deprecated = counter('petstore_deprecated_calls_total', 'Calls of getPet, by prefix of the key.', 'key_prefix')
  const prefixes = new Set<string>()
  const text = gather?.(registry) ?? (() => registry.metrics())

  return {
    observe({ route, method, operation = '', status, code, seconds }: Observation): void {
      durations
        .labels(route, TRACKED_METHODS.has(method) ? method : 'other', operation, String(status))
        .observe(seconds)
      if (code) errors.labels(code).inc()
    },
    /** A request that was never read, so that nothing but the error is known. */
    refused(code: string): void {
      errors.labels(code).inc()
    },
    deprecatedCall(keyPrefix: string): void {
      if (prefixes.size < MAX_KEYS) prefixes.add(keyPrefix)
      deprecated.labels(prefixes.has(keyPrefix) ? keyPrefix : 'other').inc()
    },
    /** Answers with all of it, in Prometheus' text format. */
    router(...before: RequestHandler[]): Router {
      const router = Router({ strict: true, caseSensitive: true })
      for (const handler of before) router.use('/metrics', handler)
      router.get('/metrics', async (_req, res) => {
        const all = await text()
        if (all === undefined) throw new ApiError('UNAVAILABLE', 'Not every process tells its metrics at the moment.')
        res.setHeader('Content-Type', registry.contentType)
        res.send(all)
      })
      return router.all('/metrics', allowMethods('GET', 'HEAD'))
    },
  }
}
