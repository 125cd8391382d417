import { setTimeout as sleep } from 'node:timers/promises'
import { type Client, createClient, statusOf } from './client.ts'
import { animalsIn, type Cluster, prepareDatabase, statementsFinished, startCluster } from './cluster.ts'
import { inDatabase } from '../support/postgres.ts'
import { atLeast, atMost, definePart, exactly, type Measurement, onQuietMachine, info } from './assertions.ts'
import { startInstance } from './instance.ts'
import { createLedger } from './ledger.ts'
import { MAX_RESPONSE_MS, measurePool } from './pool.ts'

const modes = ['fast', 'immediate', 'kill'] as const
const allowedStatuses = new Set([200, 201, 503, 504])

/** Restarts PostgreSQL in each shutdown mode and terminates its connections, while clients read and write. */
export const restarts = definePart(
  { rounds: 5, terminateSeconds: 10, concurrency: 16 },
  async (defer, { rounds, terminateSeconds, concurrency }) => {
    const cluster = await startCluster(defer)
    const { url, key } = await prepareDatabase(cluster.url)
    const service = await startInstance(defer, { DATABASE_URL: url })
    const client = createClient(service.port, key, 4 * concurrency)
    defer(() => client.close())
    const ledger = createLedger()
    const reading = readContinuously(client, concurrency)
    const writing = ledger.write(client, concurrency)

    const measurements: Measurement[] = []
    for (const mode of modes) {
      let slowestMs = 0
      for (let round = 0; round < rounds; round++) {
        await ledger.reaches(ledger.acknowledged + concurrency)
        slowestMs = Math.max(slowestMs, await restart(cluster, mode, client))
        await reading.succeeds()
        await ledger.reaches(ledger.acknowledged + 1)
      }
      measurements.push(
        onQuietMachine(
          atMost(`${mode}: time from the restart of the database to the first success`, slowestMs, 1_000, 'ms'),
        ),
      )
    }
    const before = ledger.acknowledged
    measurements.push(atLeast('terminated connections', await terminate(url, terminateSeconds), 1))
    measurements.push(atLeast('… acknowledged writes in that time', ledger.acknowledged - before, 1))
    await writing.stop()
    await reading.stop()
    await statementsFinished(url)
    const unexpected = [...ledger.statuses(), ...reading.statuses].filter(([status]) => !allowedStatuses.has(status))
    const format = (counts: Map<number, number>) => [...counts].map(([status, n]) => `${n} × ${status}`).join(', ')
    return [
      ...measurements,
      info('reads', format(reading.statuses)),
      info('writes', format(ledger.statuses())),
      exactly('statuses other than 200, 201, 503, 504', unexpected.length, 0),
      onQuietMachine(
        atMost('maximum response time', Math.max(ledger.slowestMs, reading.slowestMs), MAX_RESPONSE_MS, 'ms'),
      ),
      ...ledger.audit(await animalsIn(url)),
      ...(await measurePool(url, service.port, key)),
      exactly('restarts of the service', service.alive() ? 0 : 1, 0),
    ]
  },
)

/** @returns the time from the restart of the database to the first successful read, in milliseconds */
async function restart(cluster: Cluster, mode: (typeof modes)[number], client: Client): Promise<number> {
  await cluster.stop(mode)
  await cluster.start()
  const restartedAt = performance.now()
  while ((await client.send('GET', '/v1/pets')).status !== 200) await sleep(5)
  return performance.now() - restartedAt
}

/** Terminates every connection of the service, ten times a second. @returns the number of terminated connections */
async function terminate(url: string, seconds: number): Promise<number> {
  const sql = `SELECT count(pg_terminate_backend(pid))::int AS n FROM pg_stat_activity
    WHERE datname = current_database() AND application_name = 'pet-store'`
  return inDatabase(url, async (client) => {
    let terminated = 0
    for (let n = 0; n < seconds * 10; n++) {
      terminated += (await client.query<{ n: number }>(sql)).rows[0]?.n ?? 0
      await sleep(100)
    }
    return terminated
  })
}

/** Reads through both APIs, with this number of concurrent requests, until `stop` is called. */
function readContinuously(client: Client, concurrency: number) {
  const statuses = new Map<number, number>()
  let slowestMs = 0
  const stopping = new AbortController()
  let succeeded = () => {}
  async function reader(_: unknown, n: number) {
    while (!stopping.signal.aborted) {
      const query = JSON.stringify({ query: '{pets(first:5){nodes{id name}totalCount}}' })
      const response =
        n % 2 ? await client.send('GET', '/v1/pets?limit=5') : await client.send('POST', '/graphql', query)
      const status = n % 2 || /"data":\{/.test(response.body) ? response.status : statusOf(response)
      statuses.set(status, (statuses.get(status) ?? 0) + 1)
      slowestMs = Math.max(slowestMs, response.ms)
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
    succeeds: () => new Promise<void>((resolve) => (succeeded = resolve)),
    async stop() {
      stopping.abort()
      await readers
    },
  }
}
