import { setTimeout as sleep } from 'node:timers/promises'
import { responsesOf, type LoadResult, successesOf } from '../load/load.ts'
import { percentile, type Times } from '../load/sockets.ts'
import { fixed, table } from '../report.ts'
import type { Server } from '../servers.ts'

/** How many times as much as it can do. */
export const factors = [1, 3, 10]

/** The service under one load. */
export interface Outcome {
  name: string
  load: string
  /** Answers 2xx a second, and that against the best of this name. */
  goodput: number
  toPeak: number
  share503: number
  /** p99 of the 503 responses; undefined if there are none. */
  p99Of503Ms: number | undefined
  p99Ms: number
  /** The maximum response time of /livez during the load; undefined if a request failed. */
  livezMs: number | undefined
  /** How late the load itself was, of one that sends at a rate (p99): part of the times above. */
  lateMs: number | undefined
  /** Responses other than 2xx and 503, and requests without a response. There must be none. */
  wrong: number
}

/** What was seen beside the load itself. */
interface Seen {
  times?: Times
  livezMs: number | undefined
  lateMs?: number
  goodput?: number
}

export function outcomeOf(name: { name: string; load: string }, result: LoadResult, seen: Seen): Outcome {
  const responses = responsesOf(result)
  const unavailable = result.statuses[503] ?? 0
  const timesOf503 = seen.times?.get(503)
  const { goodput = successesOf(result) / result.seconds, livezMs, lateMs } = seen
  console.error(name.name, name.load, `${goodput.toFixed(0)}/s`, JSON.stringify(result.statuses), result.errors)
  return {
    ...name,
    goodput,
    toPeak: Number.NaN,
    share503: unavailable / responses,
    p99Of503Ms: timesOf503 && percentile(timesOf503, 99),
    p99Ms: result.p99Ms,
    livezMs,
    lateMs,
    wrong: responses - successesOf(result) - unavailable + result.errors,
  }
}

export function againstPeak(all: Outcome[]): Outcome[] {
  return all.map((one) => {
    const peak = Math.max(...all.filter(({ name }) => name === one.name).map(({ goodput }) => goodput))
    return { ...one, toPeak: one.goodput / peak }
  })
}

/** Asks now and then for as long as a load lasts. */
export async function slowestLivez({ base }: Server, seconds: number): Promise<number | undefined> {
  const end = performance.now() + seconds * 1_000
  let slowest = 0
  while (performance.now() < end) {
    const sentAt = performance.now()
    const response = await fetch(`${base}/livez`, { signal: AbortSignal.timeout(5_000) }).catch(() => undefined)
    await response?.text()
    if (!response?.ok) return undefined
    slowest = Math.max(slowest, performance.now() - sentAt)
    await sleep(250)
  }
  return slowest
}

export function outcomeTable(all: Outcome[]): string {
  return table([
    ['overload', 'load', '2xx/s', 'to peak', '503 %', 'p99 ms', 'p99 of 503', '/livez ms', 'late ms', 'wrong'],
    ...all.map((one) => [
      one.name,
      one.load,
      ...[fixed(one.goodput, 0), fixed(one.toPeak, 2), fixed(one.share503 * 100, 1)],
      ...[fixed(one.p99Ms, 1), fixed(one.p99Of503Ms, 1)],
      one.livezMs === undefined ? 'SILENT' : fixed(one.livezMs, 1),
      fixed(one.lateMs, 1),
      String(one.wrong),
    ]),
  ])
}
