import type { Request, Response } from 'express'
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client'
import { createCoalescer } from '../lib/coalesce.ts'
import { NAMESPACE, VERSION } from '../project.ts'
import type { Observation } from './observation.ts'

/** Values that other modules count, read when the metrics are scraped. */
interface MetricSources {
  database: { pool: { totalCount: number; idleCount: number }; waitingCount(): number }
  config: { DATABASE_POOL_SIZE: number }
  keyLookup: { counts: Counts }
  loadShedder: { counts: Counts }
  turns: { counts: Counts }
  streams: { size: number; events: number; endedCounts: Counts }
  services: Record<'lagMs' | 'gapWaits' | 'sequenceBehind' | 'sequenceCacheSize', () => number>
  clientLimiter: { counts: { rejected: number } } | undefined
  failedAuthLimiter: { counts: { rejected: number } }
}

type Counts = Readonly<Record<string, number>>

export type Metrics = ReturnType<typeof createMetrics>

/**
 * The Prometheus metrics of the service. Labels have few values: route templates instead of paths, for example.
 * @param methods the methods of the routes. Clients may send any others, which have the label `other`
 */
export function createMetrics(methods: string[]) {
  const registry = new Registry()
  const registers = [registry]
  const coalesce = createCoalescer<string>() // formatting takes 1 ms, before the first optimizations 10
  collectDefaultMetrics({ register: registry })
  const build = { name: `${NAMESPACE}_build_info`, help: 'Always 1.', labelNames: ['version', 'node'], registers }
  new Gauge(build).labels(VERSION, process.version).set(1)
  const durations = new Histogram({
    name: `${NAMESPACE}_request_duration_seconds`,
    help: 'Time from the headers of a request to the end of its response, or to the start of a stream. operation is the type of the GraphQL operation.',
    labelNames: ['route', 'method', 'operation', 'status'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5],
    registers,
  })
  const counter = (name: string, help: string, labelNames: string[]) =>
    new Counter({ name: `${NAMESPACE}_${name}`, help, labelNames, registers })
  const errors = counter('errors_total', 'Failed requests by route and error code.', ['route', 'code'])
  const deprecatedHelp = 'Calls of deprecated operations by key prefix; token for access tokens.'
  const deprecatedCalls = counter('deprecated_calls_total', deprecatedHelp, ['key_prefix'])

  function observeRequest(req: Request, status: number): void {
    const { routeTemplate: route, operation, errorCode: code, deadline, stream } = req
    const method = methods.includes(req.method) ? req.method : 'other'
    const ms = stream?.beganAfterMs ?? deadline.elapsedMs
    durations.observe({ route, method, operation: operation?.type ?? '', status }, ms / 1_000)
    if (code) errors.inc({ route, code })
  }

  return {
    observe(event: Observation): void {
      if (event.type === 'request') observeRequest(event.req, event.status)
      else if (event.type === 'request-rejected') errors.inc({ route: 'other', code: event.code })
      else if (event.type === 'deprecated-call') deprecatedCalls.inc({ key_prefix: event.keyPrefix })
    },
    addSources: (sources: MetricSources): void => registerSources(registry, sources),
    async send(res: Response): Promise<void> {
      res.setHeader('Content-Type', registry.contentType)
      res.send(await coalesce('metrics', () => registry.metrics()))
    },
  }
}

function registerSources(registry: Registry, sources: MetricSources): void {
  const registers = [registry]

  function gauge(name: string, help: string, value: () => number): void {
    const collect = () => metric.set(value())
    const metric: Gauge = new Gauge({ name: `${NAMESPACE}_${name}`, help, registers, collect })
  }

  /** @param counts returns a count for each value of the label, or one count if there is no label */
  function counter(name: string, help: string, counts: () => Counts | number, label = ''): void {
    const collect = () => {
      const values = counts()
      metric.reset()
      if (typeof values === 'number') metric.inc(values)
      else for (const [value, count] of Object.entries(values)) metric.inc({ [label]: value }, count)
    }
    const labelNames = label ? [label] : []
    const metric: Counter = new Counter({ name: `${NAMESPACE}_${name}`, help, labelNames, registers, collect })
  }

  const { config, database, keyLookup, loadShedder, turns, streams, services } = sources
  const { pool, waitingCount } = database
  const busy = () => pool.totalCount - pool.idleCount
  const shed = () => ({ ...loadShedder.counts, ...turns.counts })
  const rateLimited = () => ({
    key: sources.clientLimiter?.counts.rejected ?? 0,
    'wrong-keys': sources.failedAuthLimiter.counts.rejected,
  })
  gauge('database_connections', 'Open connections of the pool for requests.', () => pool.totalCount)
  gauge('database_connections_busy', 'Busy connections of the pool for requests.', busy)
  gauge('database_connections_max', 'Pool size.', () => config.DATABASE_POOL_SIZE)
  gauge('database_queue_length', 'Requests waiting for a connection or for the next batch.', waitingCount)
  const lookups = 'Lookups of keys and access tokens: cache hits and misses.'
  counter('key_lookups_total', lookups, () => keyLookup.counts, 'result')
  counter('shed_total', 'Requests rejected by load shedding, by reason.', shed, 'reason')
  counter('rate_limited_total', 'Rate-limited requests by rate limiter.', rateLimited, 'budget')
  gauge('streams', 'Open streams of subscriptions.', () => streams.size)
  counter('streams_ended_total', 'Streams that have ended, by reason.', () => streams.endedCounts, 'reason')
  counter('stream_events_total', 'Events sent to all streams.', () => streams.events)
  const lagSeconds = () => services.lagMs() / 1000
  gauge('feed_lag_seconds', 'Time for which events wait for a transaction.', lagSeconds)
  counter('feed_gap_waits_total', 'Waits of the feed for transactions in flight.', services.gapWaits)
  // What docs/feed.md assumes of the sequence of ids.
  const behind = 'The largest id minus the last one of the sequence, which must be 0.'
  gauge('sequence_behind', behind, services.sequenceBehind)
  gauge('sequence_cache_size', 'CACHE of the sequence of ids, which must be 1.', services.sequenceCacheSize)
}
