import { setTimeout as sleep } from 'node:timers/promises'
import { createClient } from './client.ts'
import { animalsIn, createStore, settled, startCluster, type Store } from './cluster.ts'
import { atLeast, atMost, definePart, type Defer, exactly, type Figure, onQuietMachine, told } from './assertions.ts'
import { startInstance } from './instance.ts'
import { createLedger } from './ledger.ts'
import { type Line, openLine } from './tcp-proxy.ts'
import { budgetMs, wholePool } from './pool.ts'

/** One trouble on the line, what it does to it again and again, and what a run of it must have brought about. */
interface Trouble {
  strike(line: Line): Promise<void>
  /** A status that clients must have seen, else the trouble was none. */
  seen?: number
}

const troubles: Record<string, Trouble> = {
  latency: {
    async strike(line) {
      line.latency(20 + Math.random() * 60)
      await sleep(200)
    },
  },
  'tiny packets': {
    async strike(line) {
      line.slice(1 + Math.floor(Math.random() * 3))
      await sleep(200)
    },
  },
  cut: {
    async strike(line) {
      await sleep(Math.random() * 100)
      line.cut('end')
    },
    seen: 504,
  },
  reset: {
    async strike(line) {
      await sleep(Math.random() * 100)
      line.cut('reset')
    },
    seen: 504,
  },
  'down and up': {
    async strike(line) {
      await line.down()
      await sleep(100)
      await line.up()
      await sleep(Math.random() * 200)
    },
    seen: 503,
  },
  'silence, for longer than any timeout': {
    async strike(line) {
      line.hold('requests', 'answers')
      await sleep(3_600)
      line.mend()
      await sleep(300)
    },
    seen: 504,
  },
  'answers held back after the commit, then cut': {
    async strike(line) {
      line.hold('answers')
      await sleep(50 + Math.random() * 100)
      line.cut('reset')
      line.mend()
      await sleep(50)
    },
    seen: 504,
  },
}

export const troubleNames = Object.keys(troubles)

/** 503 is certainly not executed, 504 may be: counted in the table, for each trouble that a line to PostgreSQL has. */
export const truth = definePart({ seconds: 8, concurrency: 16 }, async (defer, sizes) => {
  const { url } = await startCluster(defer)
  return underTroubles(defer, await createStore(url), sizes)
})

export async function underTroubles(
  defer: Defer,
  { url, key }: Store,
  { seconds, concurrency }: { seconds: number; concurrency: number },
  names = troubleNames,
): Promise<Figure[]> {
  const line = await openLine(url)
  defer(() => line.down())
  const service = await startInstance(defer, { DATABASE_URL: line.url })
  const client = createClient(service.port, key, concurrency)
  defer(() => client.close())
  const ledger = createLedger()
  const perTrouble: Figure[] = []
  for (const name of names) {
    const { strike, seen } = troubles[name] ?? {}
    if (!strike) throw new Error(`No such trouble: ${name}`)
    const before = ledger.statuses()
    const writing = ledger.write(client, concurrency)
    const until = performance.now() + seconds * 1_000
    const isSeen = () => !seen || ledger.statuses(before).has(seen)
    while (performance.now() < until || !isSeen()) await strike(line)
    line.mend()
    const acknowledged = ledger.acknowledged
    await ledger.reaches(acknowledged + concurrency) // it is well again by itself
    await writing.stop()
    const counts = ledger.statuses(before)
    perTrouble.push(told(name, [...counts].map(([status, count]) => `${count} × ${status}`).join(', ')))
    if (seen) perTrouble.push(atLeast(`… of which ${seen}`, counts.get(seen) ?? 0, 1))
  }
  await settled(url)
  return [
    ...perTrouble,
    onQuietMachine(atMost('longest answer', ledger.slowestMs, budgetMs, 'ms')),
    ...ledger.audit(await animalsIn(url)),
    ...(await wholePool(url, service.port, key)),
    exactly('restarts of the service', service.alive() ? 0 : 1, 0),
  ]
}
