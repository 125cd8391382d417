import { mintKey } from '../../src/auth/api-key.ts'
import { graphqlCases } from '../catalogue/graphql.ts'
import { sendRaw } from '../support/raw-http.ts'
import { type Client, createClient } from './client.ts'
import { prepareDatabase, startCluster, type TestDatabase } from './cluster.ts'
import { atRate, openConnections } from './connections.ts'
import { atMost, definePart, type Defer, exactly, type Measurement, quantile, info } from './assertions.ts'
import { type Instance, startInstance } from './instance.ts'

interface Sizes {
  /** Connections that do nothing. */
  idle: number
  /** Connections of every other kind. */
  connections: number
  /** How long others are watched during each attack (to the end of the longest), and how many of them there are in a second. */
  seconds: number
  rate: number
}

/** As src/config.ts has it, but for idle connections, which get 15 s here so that a run is not longer by minutes. */
const patience = { headersMs: 10_000, requestMs: 15_000, keepAliveMs: 15_000 }

/** Node looks for what is too slow once in a second, and this machine has other things to do. */
const slackMs = 3_000

/** Memory of the process at most, in MB, whatever clients do. */
const memoryMb = 512

/**
 * Clients that mean no good, of every kind: others are served as before, memory is bounded, all is closed in time. What
 * is normal is measured at the same time on a second instance that is left in peace, since machines have other work.
 */
export const hostile = definePart({ idle: 5_000, connections: 1_000, seconds: 16, rate: 100 }, async (defer, sizes) => {
  const { url } = await startCluster(defer)
  return runHostileClients(defer, await prepareDatabase(url), sizes)
})

export async function runHostileClients(
  defer: Defer,
  { url, key }: TestDatabase,
  { idle, connections, seconds, rate }: Sizes,
): Promise<Measurement[]> {
  // Without shedding: others shall be served, not refused.
  const env = { DATABASE_URL: url, KEEP_ALIVE_TIMEOUT_MS: patience.keepAliveMs, SHED_DELAY_MS: 0 }
  const [service, control] = [await startInstance(defer, env), await startInstance(defer, env)]
  const [client, controlClient] = [createClient(service.port, key), createClient(control.port, key)]
  defer(() => [client, controlClient].forEach((one) => one.close()))
  const watch = () => watchOthers(client, controlClient, rate, seconds)
  await watch() // warms both up
  const normal = await watch()
  const beforeMb = await service.residentMb()
  const figures: Measurement[] = []
  const report = (name: string, others: Watched, megabytes: number) =>
    figures.push(
      atMost(
        `${name}: others’ p99, against a p99 of ${Math.round(others.normalMs)} ms`,
        others.p99Ms / others.normalMs,
        2,
      ),
      exactly(`${name}: others refused`, others.refused, 0),
      atMost(`${name}: memory`, megabytes, memoryMb, 'MB'),
    )

  for (const crowd of crowds(key)) {
    const count = crowd.idle ? idle : connections
    const gathered = await openConnections(service.port, count, crowd)
    const others = await watch()
    report(`${count} ${crowd.name}`, others, await service.residentMb())
    const took = await gathered.closed(crowd.withinMs + slackMs)
    figures.push(
      atMost(`… all closed after`, took, crowd.withinMs + slackMs, 'ms'),
      exactly(`… answered ${crowd.status}`, gathered.countByStatus.get(crowd.status) ?? 0, count),
    )
  }
  for (const flood of floods(service, key)) {
    let wrong = 0
    const [others] = await Promise.all([
      watch(),
      atRate(flood.rate, seconds, async (n) => {
        if (!(await flood.act(n))) wrong++
      }),
    ])
    report(`${flood.rate} ${flood.name} a second`, others, await service.residentMb())
    figures.push(exactly('… answered otherwise than they ought', wrong, 0))
  }
  const after = await watch()
  return [
    info('p99 without hostile clients', normal.p99Ms, 'ms'),
    info('… of the instance that has none', normal.normalMs, 'ms'),
    info('… and after them', after.p99Ms, 'ms'),
    info('memory before', beforeMb, 'MB'),
    info('… and after them', await service.residentMb(), 'MB'),
    ...figures,
    exactly('restarts of the service', service.alive() ? 0 : 1, 0),
  ]
}

interface Watched {
  p99Ms: number
  /** What the same clients see at the same time at an instance that is left in peace. */
  normalMs: number
  refused: number
}

/** What well-behaved clients see meanwhile: reads, and one write in ten, on both instances in turn. */
async function watchOthers(client: Client, control: Client, rate: number, seconds: number): Promise<Watched> {
  const [times, normal]: [number[], number[]] = [[], []]
  let refused = 0
  await atRate(2 * rate, seconds, async (n) => {
    const besieged = n % 2 === 0
    const pet = n % 20 < 2 ? JSON.stringify({ name: `pet ${n}`, categoryId: 1 }) : undefined
    const { status, ms } = await (besieged ? client : control).send(pet ? 'POST' : 'GET', '/v1/pets', pet)
    if (besieged && status !== (pet ? 201 : 200)) refused++
    ;(besieged ? times : normal).push(ms)
  })
  return { p99Ms: quantile(times, 0.99), normalMs: quantile(normal, 0.99), refused }
}

function crowds(key: string) {
  const head = `POST /v1/pets HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\n`
  const { headersMs, requestMs, keepAliveMs } = patience
  return [
    { name: 'connections that say nothing', idle: true, withinMs: headersMs, status: 408 },
    {
      name: 'connections that say no more',
      idle: true,
      say: 'GET /livez HTTP/1.1\r\nHost: x\r\n\r\n',
      withinMs: keepAliveMs,
      status: 200,
    },
    {
      name: 'slow headers',
      say: 'GET /v1/pets HTTP/1.1\r\nHost: x\r\nX: ',
      drip: 'x',
      withinMs: headersMs,
      status: 408,
    },
    { name: 'slow bodies', say: `${head}Content-Length: 99\r\n\r\n`, drip: ' ', withinMs: requestMs, status: 408 },
    {
      name: 'slow bodies without a key',
      say: 'POST /graphql HTTP/1.1\r\nHost: x\r\nContent-Length: 99\r\n\r\n',
      drip: ' ',
      withinMs: requestMs,
      status: 401,
    },
    { name: 'half requests', say: `${head}Content-Length: 99\r\n\r\n{`, end: true, withinMs: 0, status: 400 },
  ]
}

function floods({ port }: Instance, key: string) {
  const sending = createClient(port, key)
  const withKey = async (wrong: string) => {
    const { status } = await sending.send('GET', '/v1/pets', undefined, { Authorization: `Bearer ${wrong}` })
    return status === 401
  }
  const documents = graphqlCases.filter(({ title }) => title.startsWith('a flood'))
  return [
    { name: 'wrong keys', rate: 300, act: () => withKey(mintKey()) },
    { name: 'keys with a wrong checksum', rate: 300, act: () => withKey(mintKey().replace(/.$/, '_')) },
    {
      name: 'floods of GraphQL',
      rate: 30,
      act: async (n: number) => {
        const one = documents[n % documents.length]
        return one !== undefined && (await sendRaw(port, one.bytes(key))).startsWith(`HTTP/1.1 ${one.status} `)
      },
    },
    {
      name: 'requests aborted',
      rate: 200,
      act: async (n: number) => {
        const request = `GET /v1/pets?limit=100 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n\r\n`
        await openConnections(port, 1, { send: request.slice(0, 1 + (n % request.length)) }).then((crowd) =>
          crowd.closed(1),
        )
        return true
      },
    },
  ]
}
