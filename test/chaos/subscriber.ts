import { setTimeout as sleep } from 'node:timers/promises'
import { createClient } from './client.ts'
import { connectStream, type StreamConnection, type StreamTransport } from './stream-client.ts'

export interface SubscriberOptions {
  /** Each connection uses one of these ports, at random: any instance continues a stream. */
  ports: number[]
  key: string
  status?: string | undefined
  transport?: StreamTransport
  /** Stops reading again and again, for up to so many milliseconds, and selects events of 7 KB. */
  maxPauseMs?: number
}

/** What a client has received: a page, and then the stream from its `liveCursor`. */
export interface Received {
  status: string | undefined
  /** Ids, newest first. */
  page: bigint[]
  /** Ids in the order of arrival, for each connection. */
  connections: bigint[][]
}

/** A client of petCreated that continues with its last cursor, whatever happens. */
export interface Subscriber {
  received: Received
  readonly lastId: bigint | undefined
  /** How many of its requests were rejected, by status; 0 without a response. */
  rejected: Map<number, number>
  /** Events that say that the subscription is over, or that have errors. */
  problems: string[]
  close(): Promise<void>
}

/** Maximum number of animals of the page that a subscriber reads first. */
export const FIRST_PAGE = 100

/** So large that a client that pauses soon has taken all that the system buffers. */
const LARGE_SELECTION = Array.from({ length: 28 }, (_, n) => `${'x'.repeat(253)}${10 + n}: name`).join(' ')

/** Reads a page, and subscribes from its `liveCursor`. Resolves when the first connection is open. */
export async function startSubscriber(options: SubscriberOptions): Promise<Subscriber> {
  const { key, status, transport = 'sse', maxPauseMs = 0 } = options
  const { page, liveCursor } = await readPage(options)
  const received: Received = { status, page, connections: [] }
  const rejected = new Map<number, number>()
  const problems: string[] = []
  const closing = new AbortController()
  let [cursor, lastId] = [liveCursor, undefined as bigint | undefined]
  let current: StreamConnection | undefined

  /** With the body of the first request, where the transport has Last-Event-ID. */
  function position() {
    if (transport === 'sse' && lastId !== undefined) return { after: liveCursor, lastEventId: cursor }
    return { after: cursor }
  }

  async function run(onFirstOpen: () => void): Promise<void> {
    while (!closing.signal.aborted) {
      const ids: bigint[] = []
      const stream = { port: pick(options.ports), key, transport, status, ...position() }
      current = connectStream(maxPauseMs ? { ...stream, selection: LARGE_SELECTION } : stream, {
        onEvent: (id, at) => (([cursor, lastId] = [at, id]), ids.push(id)),
        onProblem: (event) => problems.push(event),
      })
      if (await current.opened) {
        received.connections.push(ids)
        onFirstOpen()
      }
      const result = await current.ended
      if (result !== 200 && !closing.signal.aborted) rejected.set(result, (rejected.get(result) ?? 0) + 1)
      await pause(20 + Math.random() * 200, closing.signal) // clients wait before they reconnect
    }
  }

  let running = Promise.resolve()
  await new Promise<void>((resolve) => (running = run(resolve)))
  if (maxPauseMs) void pauseReading(() => current, maxPauseMs, closing.signal)
  return {
    received,
    get lastId() {
      return lastId
    },
    rejected,
    problems,
    async close() {
      closing.abort()
      current?.close()
      await running
    },
  }
}

/** Stops reading and continues, again and again. */
async function pauseReading(current: () => StreamConnection | undefined, maxMs: number, signal: AbortSignal) {
  while (!signal.aborted) {
    await pause(Math.random() * maxMs, signal)
    const paused = current()
    paused?.pause()
    await pause(Math.random() * maxMs, signal)
    paused?.resume()
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return sleep(ms, undefined, { signal }).catch(() => {}) // aborted
}

interface Page {
  data?: { pets: { liveCursor: string; nodes: { id: string }[] } | null }
}

/** Reads the first page, again until it succeeds. */
async function readPage({ ports, key, status }: SubscriberOptions): Promise<{ page: bigint[]; liveCursor: string }> {
  const query = `query($status: PetStatus) { pets(first: ${FIRST_PAGE}, status: $status) { liveCursor nodes { id } } }`
  const body = JSON.stringify({ query, variables: { status } })
  for (;;) {
    const client = createClient(pick(ports), key)
    const response = await client.send('POST', '/graphql', body)
    client.close()
    const pets = response.status === 200 && (JSON.parse(response.body) as Page).data?.pets // the answer to this query
    if (pets) return { page: pets.nodes.map(({ id }) => BigInt(id)), liveCursor: pets.liveCursor }
    await sleep(50)
  }
}

function pick<T>(values: T[]): T {
  const value = values[Math.floor(Math.random() * values.length)]
  if (value === undefined) throw new Error('There is nothing to choose from')
  return value
}
