import { setTimeout as sleep } from 'node:timers/promises'
import { type Client, createClient, statusOf } from './client.ts'
import { animalsIn, type Cluster, prepareDatabase, inDatabase, statementsFinished, startCluster } from './cluster.ts'
import { atLeast, atMost, definePart, exactly, type Measurement, onQuietMachine, info } from './assertions.ts'
import { startInstance } from './instance.ts'
import { createLedger } from './ledger.ts'
import { MAX_RESPONSE_MS, measurePool } from './pool.ts'

const ways = ['fast', 'immediate', 'kill'] as const
const allowed = new Set([200, 201, 503, 504])

/** PostgreSQL ends in each of its ways and comes back, and its connections are ended, under reads and writes. */
export const restarts = definePart(
  { rounds: 5, terminateSeconds: 10, concurrency: 16 },
  async (defer, { rounds, terminateSeconds, concurrency }) => {
    const cluster = await startCluster(defer)
    const { url, key } = await prepareDatabase(cluster.url)
    const service = await startInstance(defer, { DATABASE_URL: url })
    const client = createClient(service.port, key, 4 * concurrency)
    defer(() => client.close())
    const ledger = createLedger()
    const reading = read(client, concurrency)
    const writing = ledger.write(client, concurrency)

    const figures: Measurement[] = []
    for (const way of ways) {
      let slowestMs = 0
      for (let round = 0; round < rounds; round++) {
        await ledger.reaches(ledger.acknowledged + concurrency)
        slowestMs = Math.max(slowestMs, await restart(cluster, way, client))
        await reading.succeeds()
        await ledger.reaches(ledger.acknowledged + 1)
      }
      figures.push(
        onQuietMachine(atMost(`${way}: first success after the return of the database`, slowestMs, 1_000, 'ms')),
      )
    }
    const before = ledger.acknowledged
    figures.push(atLeast('connections ended, ten times a second', await terminate(url, terminateSeconds), 1))
    figures.push(atLeast('… acknowledged meanwhile', ledger.acknowledged - before, 1))
    await writing.stop()
    await reading.stop()
    await statementsFinished(url)
    const others = [...ledger.statuses(), ...reading.statuses].filter(([status]) => !allowed.has(status))
    const text = (counts: Map<number, number>) => [...counts].map(([status, n]) => `${n} × ${status}`).join(', ')
    return [
      ...figures,
      info('reads', text(reading.statuses)),
      info('writes', text(ledger.statuses())),
      exactly('statuses other than 200, 201, 503, 504', others.length, 0),
      onQuietMachine(atMost('longest answer', Math.max(ledger.slowestMs, reading.slowestMs), MAX_RESPONSE_MS, 'ms')),
      ...ledger.audit(await animalsIn(url)),
      ...(await measurePool(url, service.port, key)),
      exactly('restarts of the service', service.alive() ? 0 : 1, 0),
    ]
  },
)

/** @returns how long after the return of the database a read succeeded, in milliseconds */
async function restart(cluster: Cluster, way: (typeof ways)[number], client: Client): Promise<number> {
  await cluster.end(way)
  await cluster.start()
  const back = performance.now()
  while ((await client.send('GET', '/v1/pets')).status !== 200) await sleep(5)
  return performance.now() - back
}

/** Ends every connection of the service, ten times a second. @returns how many */
async function terminate(url: string, seconds: number): Promise<number> {
  const sql = `SELECT count(pg_terminate_backend(pid))::int AS n FROM pg_stat_activity
    WHERE datname = current_database() AND application_name = 'pet-store'`
  return inDatabase(url, async (client) => {
    let ended = 0
    for (let n = 0; n < seconds * 10; n++) {
      ended += (await client.query<{ n: number }>(sql)).rows[0]?.n ?? 0
      await sleep(100)
    }
    return ended
  })
}

/** Keeps reading through both faces, so many at a time. */
function read(client: Client, concurrency: number) {
  const statuses = new Map<number, number>()
  let slowestMs = 0
  const stopping = new AbortController()
  let succeeded = () => {}
  async function reader(_: unknown, n: number) {
    while (!stopping.signal.aborted) {
      const query = JSON.stringify({ query: '{pets(first:5){nodes{id name}totalCount}}' })
      const reply = n % 2 ? await client.send('GET', '/v1/pets?limit=5') : await client.send('POST', '/graphql', query)
      const status = n % 2 || /"data":\{/.test(reply.body) ? reply.status : statusOf(reply)
      statuses.set(status, (statuses.get(status) ?? 0) + 1)
      slowestMs = Math.max(slowestMs, reply.ms)
      if (status === 200) succeeded()
      await sleep(20)
    }
  }
  const readers = Promise.all(Array.from({ length: concurrency }, reader))
  return {
    statuses,
    get slowestMs() {
      return slowestMs
    },
    succeeds: () => new Promise<void>((tell) => (succeeded = tell)),
    async stop() {
      stopping.abort()
      await readers
    },
  }
}
