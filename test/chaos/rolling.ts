import { setTimeout as sleep } from 'node:timers/promises'
import { type Client, createClient, type Reply } from './client.ts'
import { animalsIn, prepareDatabase, statementsFinished, startCluster, type TestDatabase } from './cluster.ts'
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
import { hasHaproxy, startHaproxy } from './haproxy.ts'
import { type Instance, startInstance, UNHURRIED } from './instance.ts'
import { createLedger, type Ledger } from './ledger.ts'

/** Two instances behind HAProxy are restarted one after the other, while clients go on asking at a steady rate. */
export const rolling = definePart({ rounds: 10, rate: 500, drainMs: 5_000 }, async (defer, sizes) => {
  if (!hasHaproxy) return [info('rolling restart', 'SKIPPED: HAProxy is not installed (apt-get install haproxy)')]
  const { url } = await startCluster(defer)
  return rollUnderLoad(defer, await prepareDatabase(url), sizes)
})

export async function rollUnderLoad(
  defer: Defer,
  { url, key }: TestDatabase,
  { rounds, rate, drainMs }: { rounds: number; rate: number; drainMs: number },
): Promise<Measurement[]> {
  const start = (port?: number) =>
    startInstance(defer, { DATABASE_URL: url, ...UNHURRIED, DRAIN_DELAY_MS: drainMs, ...(port && { port }) })
  const instances = [await start(), await start()]
  const balancer = await startHaproxy(
    defer,
    instances.map(({ port }) => port),
  )
  const client = createClient(balancer.port, key, 64)
  defer(() => client.close())
  const ledger = createLedger()
  const load = keepAsking(client, ledger, rate)
  const codes: (number | null)[] = []
  for (let round = 0; round < rounds; round++) {
    for (const [n, instance] of instances.entries()) {
      codes.push(await instance.end('SIGTERM'))
      const next: Instance = await start(instance.port)
      await balancer.up(next.port)
      instances[n] = next
    }
  }
  const { replies, seconds } = await load.stop()
  await statementsFinished(url)
  const failed = replies.filter(({ status }) => status !== 200 && status !== 201)
  if (failed.length)
    console.error('Failed:', [
      ...new Set(failed.map(({ status, body, code }) => `${status} ${code} ${body.slice(0, 100)}`)),
    ])
  return [
    info('restarts of an instance', codes.length),
    exactly('… that did not end with 0', codes.filter((code) => code !== 0).length, 0),
    onQuietMachine(atLeast('requests a second', replies.length / seconds, rate * 0.95)),
    info('requests', replies.length),
    exactly('failed requests', failed.length, 0),
    info(
      'p99 of the answers',
      quantile(
        replies.map(({ ms }) => ms),
        0.99,
      ),
      'ms',
    ),
    ...ledger.audit(await animalsIn(url)),
  ]
}

/** Asks at a steady rate, whether or not answers come: every second request reads, the others write, on both faces. */
function keepAsking(client: Client, ledger: Ledger, rate: number) {
  const replies: Reply[] = []
  const open = new Set<Promise<void>>()
  const query = JSON.stringify({ query: '{pets(first:5){nodes{id name}}}' })
  const stopping = new AbortController()
  async function ask(n: number): Promise<void> {
    if (n % 4 === 0) replies.push(await client.send('GET', '/v1/pets?limit=5'))
    else if (n % 4 === 2) replies.push(await client.send('POST', '/graphql', query))
    else replies.push((await ledger.create(client)).reply)
  }
  async function run(): Promise<number> {
    const began = performance.now()
    let sent = 0
    while (!stopping.signal.aborted) {
      for (; sent < ((performance.now() - began) * rate) / 1_000; sent++) {
        const asked: Promise<void> = ask(sent).finally(() => open.delete(asked))
        open.add(asked)
      }
      await sleep(5)
    }
    const seconds = (performance.now() - began) / 1_000
    await Promise.all(open)
    return seconds
  }
  const running = run()
  return {
    async stop(): Promise<{ replies: Reply[]; seconds: number }> {
      stopping.abort()
      return { seconds: await running, replies }
    },
  }
}
