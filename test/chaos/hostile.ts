import { graphqlCases } from '../catalogue/graphql.ts'
import { mintKey } from '../../src/auth/api-keys.ts'
import { sendRaw } from '../support/raw-http.ts'
import { atMost, definePart, type Defer, exactly, info, type Measurement, quantile } from './assertions.ts'
import { type Client, createClient } from './client.ts'
import { issueKey, prepareDatabase, startCluster, type TestDatabase } from './cluster.ts'
import { atRate, openConnections } from './connections.ts'
import { attackWithBytes } from './floods.ts'
import { attackWithCounts } from './hostile-counts.ts'
import { attackWithDocuments } from './hostile-documents.ts'
import { connectionGroups, keepAliveMs, type SlowGroup, unreadRequests } from './hostile-clients.ts'
import { type Instance, startInstance } from './instance.ts'

interface Sizes {
  /** Connections that send nothing, or nothing more. */
  idle: number
  /** Connections of each other kind. */
  connections: number
  /** Connections that read no response, and how many requests each sends. */
  unread: number
  pipelined: number
  /** How long other clients are measured during each attack, and their requests a second. */
  seconds: number
  rate: number
  /** Connections whose bodies do not end. */
  unfinished: number
}

/** Node looks for slow requests once a second, and this machine has other work. */
const SLACK_MS = 3_000

/** Maximum memory of the process in MB, and its maximum growth while clients do not read their responses. */
const MEMORY_MB = 512
const UNREAD_MB = 100

/**
 * Hostile clients of every kind: others are served as before, memory is bounded, slow connections are closed in time.
 * What is normal is measured at the same time on a second instance without hostile clients, since machines have other
 * work.
 */
export const hostile = definePart(
  { idle: 5_000, connections: 1_000, unread: 20, pipelined: 1_000, seconds: 16, rate: 100, unfinished: 8_000 },
  async (defer, sizes) => {
    const { url } = await startCluster(defer)
    return runHostileClients(defer, await prepareDatabase(url), sizes)
  },
)

async function runHostileClients(defer: Defer, { url, key }: TestDatabase, sizes: Sizes): Promise<Measurement[]> {
  const env = { DATABASE_URL: url, KEEP_ALIVE_TIMEOUT_MS: keepAliveMs }
  const [service, control] = [await startInstance(defer, env), await startInstance(defer, env)]
  const otherKey = await issueKey(url)
  const [client, controlClient] = [createClient(service.port, otherKey), createClient(control.port, otherKey)]
  defer(() => [client, controlClient].forEach((one) => one.close()))
  const attack: Attack = { service, sizes, measureOthers: () => measureOthers(client, controlClient, sizes) }

  await attack.measureOthers() // warms up both instances
  for (let n = 0; n < 100; n++) await client.send('GET', '/metrics') // as Prometheus has done in a running service
  const normal = await attack.measureOthers()
  const beforeMb = await service.residentMb()
  const measurements: Measurement[] = []
  for (const group of connectionGroups(key)) measurements.push(...(await attackSlowly(attack, group)))
  for (const [name, request] of Object.entries(unreadRequests(key)))
    measurements.push(...(await attackUnread(attack, name, request)))
  measurements.push(...(await attackWithBytes(defer, service, client, sizes.seconds)))
  for (const flood of floods(service, key)) measurements.push(...(await attackWithFlood(attack, flood)))
  measurements.push(...(await attackWithDocuments(defer, url, sizes)))
  measurements.push(...(await attackWithCounts(defer, url, sizes)))
  const after = await attack.measureOthers()
  return [
    info('p99 without hostile clients', normal.p99Ms, 'ms'),
    info('… of the instance without them', normal.normalMs, 'ms'),
    info('… afterwards', after.p99Ms, 'ms'),
    info('memory before', beforeMb, 'MB'),
    info('… afterwards', await service.residentMb(), 'MB'),
    ...measurements,
    exactly('restarts of the service', service.alive() ? 0 : 1, 0),
  ]
}

interface Attack {
  service: Instance
  sizes: Sizes
  measureOthers(): Promise<OtherClients>
}

interface OtherClients {
  p99Ms: number
  /** What the same clients measure at the same time on the instance without hostile clients. */
  normalMs: number
  rejected: number
}

/** Connections that are slow or idle; each has to be closed in time. */
async function attackSlowly({ service, sizes, measureOthers }: Attack, group: SlowGroup): Promise<Measurement[]> {
  const count = group.idle ? sizes.idle : sizes.connections
  const opened = await openConnections(service.port, count, group)
  const others = await measureOthers()
  const name = `${count} ${group.name}`
  const measurements = [
    ...othersServed(name, others),
    atMost(`${name}: memory`, await service.residentMb(), MEMORY_MB, 'MB'),
  ]
  const closedMs = await opened.closed(group.withinMs + SLACK_MS)
  const answered = opened.countByStatus.get(group.status) ?? 0
  return [
    ...measurements,
    atMost('… all closed after', closedMs, group.withinMs + SLACK_MS, 'ms'),
    exactly(`… answered ${group.status}`, answered, count),
  ]
}

/** Connections that send many requests at once and read no response. */
async function attackUnread(
  { service, sizes, measureOthers }: Attack,
  name: string,
  request: string,
): Promise<Measurement[]> {
  const beforeMb = await service.residentMb()
  let highestMb = beforeMb
  const sampling = setInterval(async () => (highestMb = Math.max(highestMb, await service.residentMb())), 200)
  const send = request.repeat(sizes.pipelined)
  const opened = await openConnections(service.port, sizes.unread, { send, neverReads: true })
  const others = await measureOthers()
  clearInterval(sampling)
  await opened.closed(1)
  const title = `${sizes.unread} × ${sizes.pipelined} unread ${name}`
  return [...othersServed(title, others), atMost('… memory grew by', highestMb - beforeMb, UNREAD_MB, 'MB')]
}

interface Flood {
  name: string
  rate: number
  /** @returns whether the response was the right one */
  send(n: number): Promise<boolean>
}

async function attackWithFlood({ service, sizes, measureOthers }: Attack, flood: Flood): Promise<Measurement[]> {
  let wrong = 0
  const [others] = await Promise.all([
    measureOthers(),
    atRate(flood.rate, sizes.seconds, async (n) => {
      if (!(await flood.send(n))) wrong++
    }),
  ])
  const name = `${flood.rate} ${flood.name} a second`
  return [
    ...othersServed(name, others),
    atMost('… memory', await service.residentMb(), MEMORY_MB, 'MB'),
    exactly('… wrong responses', wrong, 0),
  ]
}

function othersServed(name: string, others: OtherClients): Measurement[] {
  const normal = `a p99 of ${Math.round(others.normalMs)} ms`
  return [
    atMost(`${name}: others’ p99, against ${normal}`, others.p99Ms / others.normalMs, 2),
    exactly('… others rejected', others.rejected, 0),
  ]
}

/** Sends reads, and one write in ten, to both instances in turn. */
async function measureOthers(client: Client, control: Client, { rate, seconds }: Sizes): Promise<OtherClients> {
  const [times, normal]: [number[], number[]] = [[], []]
  let rejected = 0
  await atRate(2 * rate, seconds, async (n) => {
    const isAttacked = n % 2 === 0
    const pet = n % 20 < 2 ? JSON.stringify({ name: `pet ${n}`, categoryId: 1 }) : undefined
    const { status, ms } = await (isAttacked ? client : control).send(pet ? 'POST' : 'GET', '/v1/pets', pet)
    if (isAttacked && status !== (pet ? 201 : 200)) rejected++
    ;(isAttacked ? times : normal).push(ms)
  })
  return { p99Ms: quantile(times, 0.99), normalMs: quantile(normal, 0.99), rejected }
}

function floods({ port }: Instance, key: string): Flood[] {
  const client = createClient(port, key)
  const isRejected = async (wrong: string) => {
    const { status } = await client.send('GET', '/v1/pets', undefined, { Authorization: `Bearer ${wrong}` })
    return status === 401
  }
  const documents = graphqlCases.filter(({ title }) => title.includes('a flood'))
  const request = `GET /v1/pets?limit=100 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n\r\n`
  return [
    { name: 'unknown keys', rate: 300, send: () => isRejected(mintKey()) },
    { name: 'keys with a wrong checksum', rate: 300, send: () => isRejected(mintKey().replace(/.$/, '_')) },
    {
      name: 'GraphQL documents above a limit',
      rate: 30,
      async send(n) {
        const one = documents[n % documents.length]
        if (!one) return false
        const { status, httpStatus = status, bytes } = one
        return (await sendRaw(port, bytes(key))).startsWith(`HTTP/1.1 ${httpStatus} `)
      },
    },
    {
      name: 'aborted requests',
      rate: 200,
      async send(n) {
        const opened = await openConnections(port, 1, { send: request.slice(0, 1 + (n % request.length)) })
        await opened.closed(1)
        return true
      },
    },
  ]
}
