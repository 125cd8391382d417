import { setTimeout as sleep } from 'node:timers/promises'
import { exactly, info, type Measurement } from './assertions.ts'
import { inDatabase } from '../support/postgres.ts'
import { FIRST_PAGE, type Received, type Subscriber } from './subscriber.ts'

export interface StoredAnimal {
  id: string
  name: string
  status: string | null
}

/** How long streams may take to send everything, after the last animal was added. */
const MAX_WAIT_MS = 60_000

export async function readStored(url: string): Promise<StoredAnimal[]> {
  const select = 'SELECT id, name, status FROM animal'
  return inDatabase(url, async (sql) => (await sql.query<StoredAnimal>(select)).rows)
}

/** Waits until every stream has sent the newest animal that it has to. Those that have not are faults in the audit. */
export async function reachEnd(subscribers: Subscriber[], stored: StoredAnimal[]): Promise<void> {
  const untilMs = performance.now() + MAX_WAIT_MS
  for (const subscriber of subscribers) {
    const newest = wantedOf(subscriber.received, stored).reduce((max, id) => (id > max ? id : max), 0n)
    const hasReached = () => (subscriber.lastId ?? subscriber.received.page[0] ?? 0n) >= newest
    while (!hasReached() && performance.now() < untilMs) await sleep(20)
  }
}

/** Compares what clients have received with the animals in the database: none is missing, and all are in order. */
export function auditStreams(subscribers: { received: Received }[], stored: StoredAnimal[]): Measurement[] {
  const ids = new Set(stored.map(({ id }) => BigInt(id)))
  const streams = subscribers.map(({ received }) => {
    const { page, connections } = received
    const got = new Set([...page, ...connections.flat()])
    const wanted = wantedOf(received, stored)
    const oldest = page.length === FIRST_PAGE ? (page.at(-1) ?? 0n) : 0n
    return {
      connections: connections.length,
      events: connections.flat().length,
      missing: wanted.filter((id) => id >= oldest && !got.has(id)).length,
      unordered: sum(connections.map(countUnordered)),
      unstored: [...got].filter((id) => !ids.has(id)).length,
      filtered: got.size - wanted.filter((id) => got.has(id)).length,
      repeated: countRepeated(connections),
    }
  })
  const total = (name: keyof (typeof streams)[number]) => sum(streams.map((stream) => stream[name]))
  return [
    info('streams', streams.length),
    info('… connections', total('connections')),
    info('… events received', total('events')),
    exactly('… animals missing', total('missing'), 0),
    exactly('… events out of order, or repeated within a connection', total('unordered'), 0),
    exactly('… animals that are not stored', total('unstored'), 0),
    exactly('… animals that do not match the filter', total('filtered') - total('unstored'), 0),
    info('… events repeated after a resume', total('repeated')),
  ]
}

/** The ids of the animals that match the filter of a stream. */
function wantedOf({ status }: Received, stored: StoredAnimal[]): bigint[] {
  return stored.filter((animal) => status === undefined || animal.status === status).map(({ id }) => BigInt(id))
}

const sum = (values: number[]) => values.reduce((a, b) => a + b, 0)

/** How many ids are not greater than the one before. */
function countUnordered(ids: bigint[]): number {
  return ids.filter((id, n) => id <= (ids[n - 1] ?? -1n)).length
}

/** How many ids a connection has received that an earlier one had. */
function countRepeated(connections: bigint[][]): number {
  const distinct = new Set(connections.flat()).size
  return sum(connections.map((ids) => new Set(ids).size)) - distinct
}

/** No instance ends a subscription, and none rejects its continuation but for a fault. */
export function auditRequests(subscribers: Subscriber[]): Measurement[] {
  const problems = subscribers.flatMap((subscriber) => subscriber.problems)
  const rejected = subscribers.flatMap((subscriber) => [...subscriber.rejected])
  const count = (isCounted: (status: number) => boolean) =>
    rejected.filter(([status]) => isCounted(status)).reduce((sum, [, times]) => sum + times, 0)
  const isExpected = (status: number) => [0, 503, 504].includes(status)
  if (problems.length) console.error('Events:', [...new Set(problems)].slice(0, 5))
  return [
    info('requests for a stream without a response, or with 503 or 504', count(isExpected)),
    exactly(
      '… with another status',
      count((status) => !isExpected(status)),
      0,
    ),
    exactly('streams that the service declared complete, or events with errors', problems.length, 0),
  ]
}
