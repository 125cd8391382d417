import { setTimeout as sleep } from 'node:timers/promises'
import type { Server } from '../servers.ts'
import type { BenchRequest } from '../workloads.ts'
import { KeepAliveConnection } from './keep-alive-connection.ts'
import { type Load, type LoadResult, successesOf } from './load.ts'

/** Response times by status, in milliseconds. */
export type Times = Map<number, number[]>

/** A load generator that records each response time by status, over plain keep-alive HTTP/1.1 sockets. */
export async function closedLoop({ server, requests, connections, seconds }: Load): Promise<LoadResult> {
  const tally = createTally()
  const messages = requests.map((request) => toBytes(server, request))
  const started = performance.now()
  const end = started + seconds * 1_000
  let turn = 0
  const client = async () => {
    const connection = new KeepAliveConnection(server.port)
    while (performance.now() < end) {
      await tally.time(connection.send(messages[turn++ % messages.length] ?? Buffer.alloc(0)), performance.now())
    }
    connection.close()
  }
  await Promise.all(Array.from({ length: connections }, client))
  return tally.result((performance.now() - started) / 1_000)
}

/** More at once than this many are not sent, and count as errors: the generator is beyond what it can tell. */
const MOST_AT_ONCE = 4_000

/** Connections that are opened before the first request, like those of a load balancer; more are opened on demand. */
const MOST_READY = 2_000

/**
 * Sends at a rate, independent of the response times (an open workload). A time counts from when the request was due.
 * @returns also the response times by status, and the p99 delay of sending; `seconds` are until
 *   the last response, `okInTime` are the 2xx responses that arrived while it was still sending
 */
export async function openLoop(
  server: Server,
  requests: BenchRequest[],
  { rate, seconds }: { rate: number; seconds: number },
): Promise<LoadResult & { times: Times; lateMs: number; okInTime: number }> {
  const tally = createTally()
  const messages = requests.map((request) => toBytes(server, request))
  const idle = await openConnections(server.port, Math.min(MOST_READY, Math.ceil(rate)))
  const all = new Set(idle)
  const underWay = new Set<Promise<void>>()
  const late: number[] = []
  const started = performance.now()
  const total = Math.round(rate * seconds)

  const send = async (request: Buffer, due: number) => {
    const connection = idle.pop() ?? new KeepAliveConnection(server.port)
    all.add(connection)
    late.push(performance.now() - due)
    await tally.time(connection.send(request), due)
    idle.push(connection)
  }
  for (let sent = 0; sent < total;) {
    const due = Math.min(total, Math.floor(((performance.now() - started) / 1_000) * rate))
    for (; sent < due; sent++) {
      if (underWay.size >= MOST_AT_ONCE) tally.missed()
      else {
        const one = send(messages[sent % messages.length] ?? Buffer.alloc(0), started + (sent / rate) * 1_000)
        underWay.add(one)
        void one.finally(() => underWay.delete(one))
      }
    }
    await sleep(1)
  }
  const okInTime = successesOf(tally.result(seconds))
  await Promise.all(underWay)
  for (const connection of all) connection.close()
  return {
    ...tally.result((performance.now() - started) / 1_000),
    times: tally.times,
    lateMs: percentile(late, 99),
    okInTime,
  }
}

/** A hundred at a time, which any listener's backlog takes. */
async function openConnections(port: number, count: number): Promise<KeepAliveConnection[]> {
  const opened = Array.from({ length: count }, () => new KeepAliveConnection(port))
  for (let i = 0; i < count; i += 100)
    await Promise.all(opened.slice(i, i + 100).map((connection) => connection.open()))
  return opened
}

/** @returns the nearest-rank percentile, 0 of nothing */
export function percentile(times: number[], percent: number): number {
  const sorted = Float64Array.from(times).sort()
  return sorted[Math.max(0, Math.ceil((percent / 100) * sorted.length) - 1)] ?? 0
}

function createTally() {
  const times: Times = new Map()
  let errors = 0
  return {
    times,
    missed: () => void errors++,
    /** Waits for the status of a response, and records its time after `since`. */
    async time(response: Promise<number>, since: number): Promise<void> {
      try {
        const status = await response
        const all = times.get(status) ?? []
        if (!all.length) times.set(status, all)
        all.push(performance.now() - since)
      } catch {
        errors++
      }
    },
    result(seconds: number): LoadResult {
      const all = [...times.values()].flat()
      const statuses = Object.fromEntries([...times].map(([status, { length }]) => [status, length]))
      return { seconds, statuses, errors, p50Ms: percentile(all, 50), p99Ms: percentile(all, 99) }
    },
  }
}

function toBytes({ key, port }: Server, { method, path, body }: BenchRequest): Buffer {
  const content = body ? `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n` : ''
  const head = `${method} ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nAuthorization: Bearer ${key}\r\n${content}\r\n`
  return Buffer.from(head + (body ?? ''))
}
