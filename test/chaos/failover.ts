import { type Client, createClient } from './client.ts'
import { animalsIn, prepareDatabase, statementsFinished } from './cluster.ts'
import { atMost, definePart, type Defer, exactly, info, type Measurement, quantile } from './assertions.ts'
import { type Instance, startInstance } from './instance.ts'
import { createLedger, type Ledger } from './ledger.ts'
import { startLoad } from './load.ts'
import { INSTALL_PATRONI, PATRONI_PROGRAMS, type PatroniCluster, startPatroniCluster } from './patroni.ts'
import { TIMES } from './patroni-settings.ts'
import { MAX_RESPONSE_MS, measurePool } from './pool.ts'
import { findMissing, poll } from './programs.ts'

/** How many requests may be open to each instance: those of several seconds without a primary. */
const CONNECTIONS = 2_000

/** Acknowledgements with a healthy cluster. */
const BETWEEN_FAILOVERS = 300

/** In seconds: the lock expires, a standby's next loop takes it, HAProxy's next check finds it, and time to spare. */
const AFTER_LOSS = TIMES.ttl + TIMES.loopWait + TIMES.healthCheck + 2
const AFTER_SWITCHOVER = 5

const failures = {
  kill: { act: (cluster: PatroniCluster) => cluster.killPrimary(), bound: AFTER_LOSS },
  isolation: { act: (cluster: PatroniCluster) => cluster.isolatePrimary(), bound: AFTER_LOSS },
  switchover: { act: (cluster: PatroniCluster) => cluster.switchOver(), bound: AFTER_SWITCHOVER },
}
type Failure = keyof typeof failures
const failureNames = Object.keys(failures) as Failure[] // they are its keys

/** One of the two instances, with the times at which it acknowledged creations. */
interface Writer {
  instance: Instance
  client: Client
  acknowledgedAt: number[]
}

/** Takes the primary from three PostgreSQL under Patroni in each way, while clients write through two instances. */
export const failover = definePart({ failovers: 10, rate: 300 }, async (defer, { failovers, rate }) => {
  const missing = findMissing(PATRONI_PROGRAMS)
  if (missing.length)
    return [exactly(`not installed: ${missing.join(', ')} (Debian: ${INSTALL_PATRONI})`, missing.length, 0)]
  const cluster = await startPatroniCluster(defer)
  const { key } = await prepareDatabase(cluster.url)
  const writers = [await startWriter(defer, cluster.url, key), await startWriter(defer, cluster.url, key)]
  const ledger = createLedger()
  const load = startLoad(rate, async (n) => {
    // Four creations in a row are of both APIs, with and without a key.
    const { client, acknowledgedAt } = pick(writers, Math.floor(n / 4))
    const { outcome, response } = await ledger.create(client)
    if (outcome === 'acknowledged') acknowledgedAt.push(performance.now())
    if (response.status === 0) console.error(`No response after ${Math.round(response.ms)} ms: ${response.code}`)
  })
  const outages = new Map(failureNames.map((name) => [name, [] as number[]]))
  for (let n = 0; n < failovers; n++) {
    const name = pick(failureNames, n)
    outages.get(name)?.push(await failOver(cluster, name, ledger, writers))
    await ledger.retryUnknown(pick(writers, n).client)
  }
  const seconds = await load.stop()
  await ledger.retryUnknown(pick(writers, 0).client)
  await statementsFinished(cluster.url)
  return [
    info('failovers', failovers),
    ...[...outages].flatMap(([name, seconds]) => toMeasurements(name, seconds)),
    info('seconds under load', seconds),
    info('creations per second', ledger.sent / seconds),
    info('responses', toText(ledger.statuses())),
    atMost('maximum response time', ledger.slowestMs, MAX_RESPONSE_MS, 'ms'),
    ...ledger.audit(await animalsIn(cluster.url)),
    ...(await measureWriters(cluster.url, writers, key)),
  ]
})

async function startWriter(defer: Defer, url: string, key: string): Promise<Writer> {
  const instance = await startInstance(defer, { DATABASE_URL: url })
  const client = createClient(instance.port, key, CONNECTIONS)
  defer(() => client.close())
  return { instance, client, acknowledgedAt: [] }
}

/** @returns the longest time in which one of the instances acknowledged nothing, in seconds */
async function failOver(cluster: PatroniCluster, name: Failure, ledger: Ledger, writers: Writer[]): Promise<number> {
  const acknowledging = () => Promise.all(writers.map((writer) => acknowledgesAfter(writer, performance.now())))
  await acknowledging()
  await ledger.reaches(ledger.acknowledged + BETWEEN_FAILOVERS)
  const [from, statuses] = [performance.now(), ledger.statuses()]
  const repair = await failures[name].act(cluster)
  await cluster.failedOver()
  await acknowledging()
  await repair()
  await cluster.recovered()
  await acknowledging()
  const seconds = Math.max(...writers.map(({ acknowledgedAt }) => longestGap(acknowledgedAt, from))) / 1_000
  console.log(`${name}: ${seconds.toFixed(1)} s without a successful write; ${toText(ledger.statuses(statuses))}`)
  return seconds
}

const acknowledgesAfter = ({ acknowledgedAt }: Writer, time: number) =>
  poll(async () => (acknowledgedAt.at(-1) ?? 0) > time)

/** @returns the longest time between two successive events, the first of which may be the last one before `from` */
function longestGap(times: number[], from: number): number {
  const first = Math.max(
    0,
    times.findLastIndex((time) => time < from),
  )
  return Math.max(...times.slice(first).map((time, n, later) => (later[n + 1] ?? time) - time))
}

function toMeasurements(name: Failure, seconds: number[]): Measurement[] {
  if (seconds.length === 0) return []
  return [
    info(`${name}: time without a successful write, median of ${seconds.length}`, quantile(seconds, 0.5), 's'),
    atMost('… maximum', Math.max(...seconds), failures[name].bound, 's'),
  ]
}

async function measureWriters(url: string, writers: Writer[], key: string): Promise<Measurement[]> {
  const measurements: Measurement[] = []
  for (const [n, { instance }] of writers.entries()) {
    const ofInstance = await measurePool(url, instance.port, key, writers.length)
    ofInstance.push(exactly('restarts', instance.alive() ? 0 : 1, 0))
    measurements.push(...ofInstance.map((each) => ({ ...each, name: `instance ${n + 1}: ${each.name}` })))
  }
  return measurements
}

const toText = (statuses: Map<number, number>) => [...statuses].map(([status, n]) => `${n} × ${status}`).join(', ')

function pick<T>(list: readonly T[], n: number): T {
  return list[n % list.length] as T // the lists are not empty
}
