import { setTimeout as sleep } from 'node:timers/promises'
import { atMost, type Defer, exactly, info, type Measurement, onQuietMachine, quantile } from './assertions.ts'
import { createClient, createPet } from './client.ts'
import type { TestDatabase } from './cluster.ts'
import { inDatabase } from '../support/postgres.ts'
import { PATIENT, startInstance } from './instance.ts'
import { connectStream } from './stream-client.ts'

/** Promised for a service at rest, on every instance. */
const MAX_LATENCY_MS = 150

/**
 * Adds one animal at a time: through one of two instances, and by SQL. Measures until a stream on each instance has it,
 * from the beginning of the request, or from the commit of the SQL, which neither instance knows of. The bound is for the
 * latter.
 */
export async function measureLatency(
  defer: Defer,
  { url, key }: TestDatabase,
  { animals }: { animals: number },
): Promise<Measurement[]> {
  const instances = await Promise.all([1, 2].map(() => startInstance(defer, { DATABASE_URL: url, ...PATIENT })))
  const client = createClient(instances[0]?.port ?? 0, key)
  const streams = await Promise.all(instances.map(({ port }) => watchStream(port, key)))
  defer(() => [client, ...streams].forEach((one) => one.close()))
  const times: Record<'same' | 'other' | 'sql', number[]> = { same: [], other: [], sql: [] }
  await inDatabase(url, async (sql) => {
    for (let n = 0; n < animals; n++) {
      await sleep(Math.random() * 250) // at any moment between two reads
      const sentMs = performance.now()
      const { id } = await createPet(client, 'rest', `latency ${n}`)
      if (id === undefined) throw new Error('The service rejected an animal')
      const [same = 0, other = 0] = await Promise.all(streams.map((stream) => stream.arrival(BigInt(id))))
      times.same.push(same - sentMs)
      times.other.push(other - sentMs)
      await sleep(Math.random() * 250)
      const insert = "INSERT INTO animal (name, category_id) VALUES ('by SQL', 1) RETURNING id"
      const { rows } = await sql.query<{ id: string }>(insert)
      const committedMs = performance.now()
      const arrivals = await Promise.all(streams.map((stream) => stream.arrival(BigInt(rows[0]?.id ?? 0))))
      times.sql.push(...arrivals.map((arrival) => arrival - committedMs))
    }
  })
  await Promise.all(instances.map((instance) => instance.stop('SIGTERM')))
  return [
    ...summarise('added through the same instance', times.same),
    ...summarise('added through another instance', times.other),
    ...summarise('added by SQL', times.sql),
    onQuietMachine(atMost('… p95, from the commit', quantile(times.sql, 0.95), MAX_LATENCY_MS, 'ms')),
    exactly('streams that ended', streams.filter(({ problems }) => problems.length).length, 0),
  ]
}

function summarise(title: string, times: number[]): Measurement[] {
  return [
    info(`latency of an animal ${title}: p50`, quantile(times, 0.5), 'ms'),
    info('… p95', quantile(times, 0.95), 'ms'),
    info('… p99', quantile(times, 0.99), 'ms'),
  ]
}

/** Opens a stream, and records when each animal arrives. */
async function watchStream(port: number, key: string) {
  const arrivals = new Map<bigint, number>()
  const problems: string[] = []
  let onArrival = () => {}
  const { opened, close } = connectStream(
    { port, key },
    {
      onEvent(id) {
        arrivals.set(id, performance.now())
        onArrival()
      },
      onProblem: (event) => problems.push(event),
    },
  )
  if (!(await opened)) throw new Error('The service rejected a stream')
  return {
    problems,
    close,
    /** Waits until an animal has arrived. @returns when it has */
    async arrival(id: bigint): Promise<number> {
      for (;;) {
        const ms = arrivals.get(id)
        if (ms !== undefined) return ms
        await new Promise<void>((resolve) => (onArrival = resolve))
      }
    },
  }
}
