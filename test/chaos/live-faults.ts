import { setTimeout as sleep } from 'node:timers/promises'
import { type Defer, exactly, info, type Measurement } from './assertions.ts'
import { createClient, createPet } from './client.ts'
import { type Cluster, statementsFinished, type TestDatabase } from './cluster.ts'
import { type Instance, startInstance } from './instance.ts'
import { createLedger, type Ledger } from './ledger.ts'
import { writeBySql } from './sql-writer.ts'
import { auditRequests, auditStreams, reachEnd, readStored, type StoredAnimal } from './stream-audit.ts'
import { startSubscriber, type SubscriberOptions } from './subscriber.ts'
import { startTcpProxy, type TcpProxy } from './tcp-proxy.ts'

interface Sizes {
  instances: number
  streams: number
  /** Faults of each kind: SIGKILLs of an instance and of PostgreSQL, and of the network between clients and service. */
  kills: number
  databaseKills: number
  networkFaults: number
  /** For how long at most some clients stop reading, in milliseconds. */
  pauseMs: number
}

/** Writers and streams on several instances under faults. @param cluster PostgreSQL, if there are kills of it */
export async function streamUnderFaults(
  defer: Defer,
  { url, key }: TestDatabase,
  sizes: Sizes,
  cluster?: Cluster,
): Promise<Measurement[]> {
  /** The first instance soon disconnects clients that take nothing. */
  const startOne = (n: number, port?: number) =>
    startInstance(defer, {
      DATABASE_URL: url,
      waitFor: '/livez',
      limits: { writeTimeoutMs: n === 0 ? 2_000 : 30_000 },
      ...(port && { port }),
    })
  const instances = await Promise.all(Array.from({ length: sizes.instances }, (_, n) => startOne(n)))
  const proxies = await Promise.all(instances.map(({ port }) => startTcpProxy(`http://127.0.0.1:${port}`)))
  defer(async () => void (await Promise.all(proxies.map((proxy) => proxy.down()))))
  const ledger = createLedger()
  const ports = instances.map(({ port }) => port)
  const writers = startWriters(defer, { url, key }, ports, ledger)
  await ledger.reaches(50) // so that streams begin among writers
  const proxied = proxies.map((proxy) => Number(new URL(proxy.url).port))
  const subscribers = await Promise.all(
    Array.from({ length: sizes.streams }, (_, n) =>
      startSubscriber({ key, ...toKind(n, ports, proxied, sizes.pauseMs) }),
    ),
  )
  defer(async () => void (await Promise.all(subscribers.map((subscriber) => subscriber.close()))))

  await injectFaults(sizes, {
    network: () => failNetwork(proxies),
    service: () => killInstance(instances, startOne),
    database: async () => cluster?.stop('kill').then(cluster.start),
  })
  const bySql = await writers.stop()
  await statementsFinished(url)
  const stored = await readStored(url)
  await reachEnd(subscribers, stored)
  return [
    info('SIGKILLs of instances', sizes.kills),
    info('SIGKILLs of PostgreSQL', cluster ? sizes.databaseKills : 0),
    info('network faults between clients and service', sizes.networkFaults),
    ...auditSqlWriter(bySql, stored),
    ...ledger.audit(stored.filter(({ name }) => name.startsWith('animal '))),
    ...auditStreams(subscribers, stored),
    ...auditRequests(subscribers),
    info('streams disconnected because their client took nothing', await countSlow(ports[0], key)),
  ]
}

/** Writes through both APIs of all instances, with replays of idempotency keys, and by SQL. */
function startWriters(defer: Defer, { url, key }: TestDatabase, ports: number[], ledger: Ledger) {
  const clients = ports.map((port) => createClient(port, key))
  defer(() => clients.forEach((client) => client.close()))
  const byApi = clients.map((client) => ledger.write(client, 2))
  const bySql = writeBySql(url, 6)
  const stopping = new AbortController()
  /** Each key is sent several times; all but the first time it adds nothing. */
  async function replay(): Promise<void> {
    for (let n = 0; !stopping.signal.aborted; n++) {
      const client = clients[n % clients.length]
      if (client) await createPet(client, n % 2 ? 'graphql' : 'rest', `replayed ${n >> 3}`, `replayed-${n >> 3}`)
      await sleep(10)
    }
  }
  const replaying = replay()
  return {
    async stop() {
      stopping.abort()
      await Promise.all([...byApi.map((writer) => writer.stop()), replaying])
      return bySql.stop()
    },
  }
}

const STATUSES = ['available', 'pending', 'sold']

/** Every third stream passes a proxy that fails, every third is multipart, every fifth pauses, every fourth has a filter. */
function toKind(n: number, direct: number[], proxied: number[], maxPauseMs: number): Omit<SubscriberOptions, 'key'> {
  const pauses = n % 5 === 4
  return {
    ports: n % 3 === 1 && !pauses ? proxied : direct, // the proxy would read what a client that pauses does not
    transport: n % 3 === 2 ? 'multipart' : 'sse',
    status: n % 4 === 3 ? STATUSES[(n >> 2) % STATUSES.length] : undefined,
    ...(pauses && { maxPauseMs }),
  }
}

/** How many streams an instance has ended since its start, because their clients took nothing. */
async function countSlow(port: number | undefined, key: string): Promise<number> {
  if (port === undefined) return 0
  const client = createClient(port, key)
  const { body } = await client.send('GET', '/metrics')
  client.close()
  return Number(/^petstore_streams_ended_total\{reason="slow"\} (\d+)$/m.exec(body)?.[1] ?? 0)
}

type Fault = 'service' | 'database' | 'network'

/** Injects faults in random order, at random moments. */
async function injectFaults(
  { kills, databaseKills, networkFaults }: Sizes,
  inject: Record<Fault, () => Promise<void>>,
): Promise<void> {
  const faults = [
    ...Array<Fault>(kills).fill('service'),
    ...Array<Fault>(databaseKills).fill('database'),
    ...Array<Fault>(networkFaults).fill('network'),
  ]
  for (const fault of faults.sort(() => Math.random() - 0.5)) {
    await sleep(Math.random() * 1_500)
    await inject[fault]()
  }
  await sleep(1_000)
}

async function killInstance(
  instances: Instance[],
  start: (n: number, port: number) => Promise<Instance>,
): Promise<void> {
  const n = Math.floor(Math.random() * instances.length)
  const victim = instances[n]
  if (!victim) return
  await victim.stop('SIGKILL')
  instances[n] = await start(n, victim.port)
}

/** Cuts the connections of an instance, resets them, loses what is in flight, or is silent for a while. */
async function failNetwork(proxies: TcpProxy[]): Promise<void> {
  const proxy = proxies[Math.floor(Math.random() * proxies.length)]
  if (!proxy) return
  const kind = Math.floor(Math.random() * 5)
  if (kind === 0) proxy.cut('fin')
  else if (kind === 1) proxy.cut('rst')
  else if (kind === 2) proxy.slice(7)
  else if (kind === 3) proxy.hold('responses')
  else proxy.hold('requests', 'responses')
  await sleep(Math.random() * 1_500)
  if (kind === 4) proxy.cut()
  proxy.restore()
}

function auditSqlWriter(
  { committed, rolledBack }: { committed: string[]; rolledBack: number },
  stored: StoredAnimal[],
): Measurement[] {
  const ids = new Set(stored.map(({ id }) => id))
  return [
    info('animals committed by SQL, in transactions that stay open', committed.length),
    exactly('… committed, but not stored', committed.filter((id) => !ids.has(id)).length, 0),
    info('… transactions rolled back', rolledBack),
  ]
}
