import { freePort } from '../support/processes.ts'
import { proxyPrograms, startProxyProgram } from '../support/proxies.ts'
import { unitEnvironment } from '../support/unit.ts'
import { type Client, createClient, type ClientResponse } from './client.ts'
import { prepareDatabase, statementsFinished, startCluster, type TestDatabase } from './cluster.ts'
import {
  atLeast,
  definePart,
  type Defer,
  exactly,
  type Measurement,
  onQuietMachine,
  quantile,
  info,
} from './assertions.ts'
import { type Instance, startInstance, PATIENT, today } from './instance.ts'
import { createLedger, type Ledger } from './ledger.ts'
import { isNoReplay } from './replays.ts'
import { startLoad } from './load.ts'
import { auditRequests, auditStreams, reachEnd, readStored } from './stream-audit.ts'
import { startSubscriber, type Subscriber } from './subscriber.ts'

/**
 * Restarts the instances of deploy/pet-store@.service one after the other, behind each proxy of deploy/, while clients send requests at a steady rate
 * and read streams.
 */
export const rolling = definePart({ rounds: 5, instances: 4, rate: 500, streams: 30 }, async (defer, sizes) => {
  const measurements: Measurement[] = []
  for (const { name, installed } of proxyPrograms) {
    measurements.push(info('proxy', installed ? name : `SKIPPED: ${name} is not installed (apt-get install ${name})`))
    if (!installed) continue
    const { url } = await startCluster(defer)
    measurements.push(...(await rollUnderLoad(defer, name, await prepareDatabase(url), sizes)))
  }
  return measurements
})

interface Rounds {
  /** Prepares a round, and returns the folder of the build that its instances run. Round 0 is the start. */
  buildOf(round: number): Promise<string>
  /** Is called after each restart but the last of a round, with the ports of an instance of the round and of one before it. */
  betweenRestarts(ports: number[]): Promise<void>
}

export async function rollUnderLoad(
  defer: Defer,
  name: string,
  { url, key }: TestDatabase,
  { rounds, instances: count, rate, streams }: { rounds: number; instances: number; rate: number; streams: number },
  { buildOf, betweenRestarts }: Rounds = { buildOf: async () => today, betweenRestarts: async () => {} },
): Promise<Measurement[]> {
  let build = await buildOf(0)
  const start = (port: number) =>
    startInstance(defer, { build, port, DATABASE_URL: url, ...unitEnvironment(port), ...PATIENT })
  const instances: Instance[] = []
  while (instances.length < count) instances.push(await start(await freePort()))
  const { port } = await startProxyProgram(
    defer,
    name,
    instances.map((instance) => instance.port),
  )
  const client = createClient(port, key, 64)
  defer(() => client.close())
  const ledger = createLedger()
  const load = sendRequests(client, ledger, rate)
  const subscribers = await startStreams(defer, port, key, streams)
  const exitCodes: (number | null)[] = []
  for (let round = 1; round <= rounds; round++) {
    build = await buildOf(round)
    exitCodes.push(...(await restartInTurn(instances, start, betweenRestarts)))
  }
  const { responses, seconds } = await load.stop()
  await statementsFinished(url)
  const stored = await readStored(url)
  await reachEnd(subscribers, stored)
  const failed = responses.filter(({ status }) => status !== 200 && status !== 201)
  const closed = failed.filter(({ status }) => status === 0)
  if (failed.length)
    console.error('Failed:', [
      ...new Set(failed.map(({ status, body, code }) => `${status} ${code} ${body.slice(0, 100)}`)),
    ])
  return [
    info('restarts of an instance', exitCodes.length),
    exactly('… with an exit code other than 0', exitCodes.filter((code) => code !== 0).length, 0),
    onQuietMachine(atLeast('requests per second', responses.length / seconds, rate * 0.95)),
    info('requests', responses.length),
    exactly('failed requests, with a response', failed.length - closed.length, 0),
    exactly('… without a response', closed.length, 0),
    info(
      'p99 response time',
      quantile(
        responses.map(({ ms }) => ms),
        0.99,
      ),
      'ms',
    ),
    ...ledger.audit(stored.filter(isNoReplay)),
    ...auditStreams(subscribers, stored),
    ...auditRequests(subscribers),
    exactly('requests for a stream that failed', subscribers.filter(({ rejected }) => rejected.size).length, 0),
  ]
}

/** @returns the exit codes of the instances */
async function restartInTurn(
  instances: Instance[],
  start: (port: number) => Promise<Instance>,
  betweenRestarts: Rounds['betweenRestarts'],
): Promise<(number | null)[]> {
  const exitCodes: (number | null)[] = []
  for (const [n, instance] of instances.entries()) {
    exitCodes.push(await instance.stop('SIGTERM'))
    instances[n] = await start(instance.port)
    const ports = instances.slice(n, n + 2).map(({ port }) => port)
    if (ports.length === 2) await betweenRestarts(ports)
  }
  return exitCodes
}

/** Opens streams of both transports. */
async function startStreams(defer: Defer, port: number, key: string, count: number): Promise<Subscriber[]> {
  const subscribers = await Promise.all(
    Array.from({ length: count }, (_, n) =>
      startSubscriber({ ports: [port], key, transport: n % 3 ? 'sse' : 'multipart' }),
    ),
  )
  defer(async () => void (await Promise.all(subscribers.map((subscriber) => subscriber.close()))))
  return subscribers
}

/** Sends reads and writes to both APIs at a steady rate. */
function sendRequests(client: Client, ledger: Ledger, rate: number) {
  const responses: ClientResponse[] = []
  const query = JSON.stringify({ query: '{pets(first:5){nodes{id name}}}' })
  const load = startLoad(rate, async (n) => {
    if (n % 4 === 0) responses.push(await client.send('GET', '/v1/pets?limit=5'))
    else if (n % 4 === 2) responses.push(await client.send('POST', '/graphql', query))
    else responses.push((await ledger.create(client)).response)
  })
  return { stop: async () => ({ seconds: await load.stop(), responses }) }
}
