import { setTimeout as sleep } from 'node:timers/promises'
import { createClient } from './client.ts'
import { animalsIn, prepareDatabase, statementsFinished, startCluster, type TestDatabase } from './cluster.ts'
import {
  atLeast,
  atMost,
  definePart,
  type Defer,
  exactly,
  type Measurement,
  onQuietMachine,
  info,
} from './assertions.ts'
import { startInstance } from './instance.ts'
import { createLedger } from './ledger.ts'
import { type TcpProxy, startTcpProxy } from './tcp-proxy.ts'
import { MAX_RESPONSE_MS, measurePool } from './pool.ts'

/** A network fault, which is injected repeatedly. */
interface Fault {
  /** @param slowness how much longer than usual a statement may take: it grows until the fault has had an effect */
  inject(proxy: TcpProxy, slowness: number): Promise<void>
  /** The status that clients receive if the fault has an effect. */
  expectedStatus?: number
}

const FAULTS: Record<string, Fault> = {
  latency: {
    async inject(proxy) {
      proxy.latency(20 + Math.random() * 60)
      await sleep(200)
    },
  },
  'tiny packets': {
    async inject(proxy) {
      proxy.slice(1 + Math.floor(Math.random() * 3))
      await sleep(200)
    },
  },
  cut: {
    async inject(proxy, slowness) {
      await sleep(Math.random() * 100 * slowness)
      proxy.cut('fin')
    },
    expectedStatus: 504,
  },
  reset: {
    async inject(proxy, slowness) {
      await sleep(Math.random() * 100 * slowness)
      proxy.cut('rst')
    },
    expectedStatus: 504,
  },
  'down and up': {
    async inject(proxy) {
      await proxy.down()
      await sleep(100)
      await proxy.up()
      await sleep(Math.random() * 200)
    },
    expectedStatus: 503,
  },
  'silence, for longer than any timeout': {
    async inject(proxy) {
      proxy.hold('requests', 'responses')
      await sleep(3_600)
      proxy.restore()
      await sleep(300)
    },
    expectedStatus: 504,
  },
  'responses held after the commit, then cut': {
    async inject(proxy, slowness) {
      proxy.hold('responses')
      await sleep(50 + Math.random() * 100)
      proxy.cut('rst')
      proxy.restore()
      await sleep(50 * slowness)
    },
    expectedStatus: 504,
  },
}

export const faultNames = Object.keys(FAULTS)

/** Under each network fault between the service and PostgreSQL, 503 means not executed, and 504 unknown. */
export const networkFaults = definePart({ seconds: 8, concurrency: 16 }, async (defer, sizes) => {
  const { url } = await startCluster(defer)
  return runUnderFaults(defer, await prepareDatabase(url), sizes)
})

export async function runUnderFaults(
  defer: Defer,
  { url, key }: TestDatabase,
  { seconds, concurrency }: { seconds: number; concurrency: number },
  names = faultNames,
): Promise<Measurement[]> {
  const proxy = await startTcpProxy(url)
  defer(() => proxy.down())
  const service = await startInstance(defer, { DATABASE_URL: proxy.url })
  const client = createClient(service.port, key, concurrency)
  defer(() => client.close())
  const ledger = createLedger()
  const perFault: Measurement[] = []
  for (const name of names) {
    const { inject, expectedStatus } = FAULTS[name] ?? {}
    if (!inject) throw new Error(`No such fault: ${name}`)
    const before = ledger.statuses()
    const writing = ledger.write(client, concurrency)
    const until = performance.now() + seconds * 1_000
    const hasHadEffect = () => !expectedStatus || ledger.statuses(before).has(expectedStatus)
    for (let n = 0; performance.now() < until || !hasHadEffect(); n++) await inject(proxy, 1 + n / 20)
    proxy.restore()
    const acknowledged = ledger.acknowledged
    await ledger.reaches(acknowledged + concurrency) // the service recovers without a restart
    await writing.stop()
    const counts = ledger.statuses(before)
    perFault.push(info(name, [...counts].map(([status, count]) => `${count} × ${status}`).join(', ')))
    if (expectedStatus) perFault.push(atLeast(`… of which ${expectedStatus}`, counts.get(expectedStatus) ?? 0, 1))
  }
  await statementsFinished(url)
  return [
    ...perFault,
    onQuietMachine(atMost('longest response', ledger.slowestMs, MAX_RESPONSE_MS, 'ms')),
    ...ledger.audit(await animalsIn(url)),
    ...(await measurePool(url, service.port, key)),
    exactly('restarts of the service', service.alive() ? 0 : 1, 0),
  ]
}
