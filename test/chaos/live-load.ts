import { fork } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { atMost, type Defer, exactly, info, type Measurement, onQuietMachine, quantile } from './assertions.ts'
import { type Client, createClient, createPet } from './client.ts'
import type { TestDatabase } from './cluster.ts'
import { atRate } from './connections.ts'
import { type Instance, PATIENT, startInstance } from './instance.ts'

interface Sizes {
  /** Streams that are open on one process. */
  open: number
  /** Animals a second. */
  rate: number
  /** How long other clients are measured, at each stage. */
  seconds: number
}

/** Requests of other clients a second. */
const OTHERS_RATE = 100

const CPU = 'process_cpu_seconds_total'

/** Bound of the median response time of others. When each event was a write of its own, it was 13 seconds. */
const MAX_OTHERS_MS = 100

const MAX_KB_PER_STREAM = 40
const MAX_HEAP_GROWTH_MB = 20

/** Many streams on one process: what each costs, and what other clients notice. */
export async function measureLoad(defer: Defer, { url, key }: TestDatabase, sizes: Sizes): Promise<Measurement[]> {
  const { open, rate, seconds } = sizes
  const preload = new URL('./collect-garbage.mjs', import.meta.url).href
  const instance = await startInstance(defer, {
    DATABASE_URL: url,
    ...PATIENT,
    NODE_OPTIONS: `--import=${preload}`,
  })
  const client = createClient(instance.port, key)
  defer(() => client.close())
  const { id } = await createPet(client, 'rest', 'of other clients')
  if (id === undefined) throw new Error('The service rejected an animal')
  const others = () => measureOthers(client, id, seconds)
  await others() // warms up
  const before = await memoryOf(instance, client)
  const alone = await others()

  const readers = await openStreams(defer, instance.port, key, open)
  const opened = await memoryOf(instance, client)
  const idle = await others()
  const count = rate * seconds
  const cpuBefore = await readMetric(client, CPU)
  const adding = atRate(rate, seconds, async (n) => void (await createPet(client, 'rest', `load ${n}`)))
  const busy = await others()
  await adding
  const catchUpMs = await readers.received(open * count)
  const lagMs = (await readMetric(client, 'nodejs_eventloop_lag_p99_seconds')) * 1_000 // since the last scrape
  const busySeconds = (await readMetric(client, CPU)) - cpuBefore
  const counts = await readers.counts()
  await readers.close()
  while ((await readMetric(client, 'petstore_streams')) > 0) await sleep(20)
  const after = await memoryOf(instance, client)
  await instance.stop('SIGTERM')
  return [
    info('open streams of a process', open),
    exactly('… rejected, or closed by the service', counts.rejected + counts.closed, 0),
    onQuietMachine(
      atMost('… memory for each', ((opened.residentMb - before.residentMb) * 1_024) / open, MAX_KB_PER_STREAM, 'KB'),
    ),
    info('… heap for each', ((opened.heapMb - before.heapMb) * 1_024) / open, 'KB'),
    info('others’ p50 and p99 without streams', toText(alone)),
    info('… with idle streams', toText(idle)),
    info(`… while ${rate} animals a second are added`, toText(busy)),
    onQuietMachine(atMost('… p50 of them', busy.p50, MAX_OTHERS_MS, 'ms')),
    info('… p99 of the event-loop lag', lagMs, 'ms'),
    exactly('events received', counts.events, open * count),
    info('… processor time for each, with the requests of others', (busySeconds * 1_000_000) / counts.events, 'µs'),
    info('… the last one, after the end of the load', catchUpMs, 'ms'),
    atMost('growth of the heap after all are closed', after.heapMb - before.heapMb, MAX_HEAP_GROWTH_MB, 'MB'),
  ]
}

const toText = ({ p50, p99 }: { p50: number; p99: number }) => `${p50.toFixed(1)} / ${p99.toFixed(1)} ms`

async function measureOthers(client: Client, id: string, seconds: number): Promise<{ p50: number; p99: number }> {
  const times: number[] = []
  await atRate(OTHERS_RATE, seconds, async () => {
    const { status, ms } = await client.send('GET', `/v1/pets/${id}`)
    times.push(status === 200 ? ms : Infinity)
  })
  return { p50: quantile(times, 0.5), p99: quantile(times, 0.99) }
}

/** Memory after a garbage collection. */
async function memoryOf(instance: Instance, client: Client): Promise<{ residentMb: number; heapMb: number }> {
  for (let n = 0; n < 2; n++) {
    process.kill(instance.pid, 'SIGUSR2')
    await sleep(500) // the service says nothing about it
  }
  const heapMb = (await readMetric(client, 'nodejs_heap_size_used_bytes')) / 2 ** 20
  return { residentMb: await instance.residentMb(), heapMb }
}

async function readMetric(client: Client, name: string): Promise<number> {
  const { body } = await client.send('GET', '/metrics')
  return Number(new RegExp(`^${name} (.*)$`, 'm').exec(body)?.[1])
}

interface Counts {
  events: number
  rejected: number
  closed: number
}

/** Opens streams that are read by another process: this one measures times. */
async function openStreams(defer: Defer, port: number, key: string, count: number) {
  const program = fileURLToPath(new URL('./stream-readers.mjs', import.meta.url))
  const child = fork(program, [String(port), key, String(count)])
  const exited = once(child, 'exit')
  defer(async () => {
    child.kill('SIGKILL')
    await exited
  })
  const nextCounts = async () => (await once(child, 'message'))[0] as Counts // all that it sends
  await nextCounts()
  async function counts(): Promise<Counts> {
    child.send('count')
    return nextCounts()
  }
  return {
    counts,
    /** Waits for a number of events, up to a minute. @returns how long, in milliseconds */
    async received(events: number): Promise<number> {
      const sinceMs = performance.now()
      while ((await counts()).events < events && performance.now() < sinceMs + 60_000) await sleep(20)
      return performance.now() - sinceMs
    },
    async close() {
      child.send('close')
      await exited
    },
  }
}
