import { setTimeout as sleep } from 'node:timers/promises'
import type { Cleanup } from './cleanup.ts'
import { type Postgres, restoreRows, runSql } from './database.ts'
import { answersOf, type Loader, type LoadResult, okOf } from './load/load.ts'
import { closedLoop, openLoop, percentile, type Times } from './load/sockets.ts'
import { fixed, table } from './report.ts'
import { type Server, startServer } from './servers.ts'
import { variants } from './variants.ts'
import { asksOf, works } from './works.ts'

/** The service under one load. */
export interface Overload {
  name: string
  load: string
  /** Answers 2xx a second, and that against the best of this name. */
  goodput: number
  toPeak: number
  share503: number
  /** p99 of the 503 answers; undefined when there were none. */
  p99Of503Ms: number | undefined
  p99Ms: number
  /** The slowest answer of /livez meanwhile; undefined when one did not come. */
  livezMs: number | undefined
  /** Neither 2xx nor 503, or no answer. There must be none. */
  wrong: number
}

interface Settings {
  connections: number
  seconds: number
  warmup: number
  rows: number
}

const times = [1, 3, 10]

/** As many at once as keep the two database connections of the slow case busy, and no more than that: what it can do. */
const BUSY = 8

/** How many requests a second are timed by status beside a load of wrk, which cannot tell. */
const WITNESSES = 50

export async function overload(
  settings: Settings,
  load: Loader,
  postgres: Postgres,
  cleanup: Cleanup,
): Promise<Overload[]> {
  return [
    ...(await moreConnections(settings, load, postgres, cleanup)),
    ...(await moreRequests(settings, postgres, cleanup)),
  ]
}

/** Clients that ask again as soon as they have an answer, whatever it says: more and more of them. */
async function moreConnections(
  { connections, seconds, warmup, rows }: Settings,
  load: Loader,
  postgres: Postgres,
  cleanup: Cleanup,
): Promise<Overload[]> {
  const server = await startService(postgres, await postgres.create('bench', rows), cleanup)
  const all: Overload[] = []
  for (const work of works.filter(({ name }) =>
    ['rest-create', 'rest-list-spread', 'graphql-create', 'graphql-list-spread'].includes(name),
  )) {
    const asks = asksOf(work, server.variant.dialect, rows)
    for (const factor of times) {
      await load({ server, asks, connections, seconds: warmup })
      const [result, witness, livezMs] = await Promise.all([
        load({ server, asks, connections: connections * factor, seconds, statuses: true }),
        openLoop(server, asks, { rate: WITNESSES, seconds }),
        slowestLivez(server, seconds),
      ])
      all.push(summary(work.name, `${connections * factor} connections`, result, witness.times, livezMs))
      await restoreRows(server.databaseUrl, rows)
    }
  }
  await server.stop()
  return againstPeak(all)
}

/** Clients who come at a rate, however slow the answers are, and a database where each write takes its time. */
async function moreRequests(
  { seconds, warmup, rows }: Settings,
  postgres: Postgres,
  cleanup: Cleanup,
): Promise<Overload[]> {
  const url = await postgres.create('slow', rows)
  await runSql(url, [
    'CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(0.002); RETURN NEW; END $$',
    'CREATE TRIGGER slow BEFORE INSERT ON animal FOR EACH ROW EXECUTE FUNCTION slow()',
  ])
  const server = await startService(postgres, url, cleanup, { DATABASE_POOL_SIZE: '2' })
  const all: Overload[] = []
  for (const work of works.filter(({ action }) => action === 'create')) {
    const asks = asksOf(work, server.variant.dialect, rows)
    const name = `${work.name}, slow database`
    const busy = { server, asks, connections: BUSY }
    await closedLoop({ ...busy, seconds: warmup })
    const [most, livezMs] = await Promise.all([closedLoop({ ...busy, seconds }), slowestLivez(server, seconds)])
    all.push(summary(name, `${BUSY} connections`, most, new Map(), livezMs))
    for (const factor of times) {
      const rate = Math.round((factor * okOf(most)) / most.seconds)
      const [result, livezMs] = await Promise.all([
        openLoop(server, asks, { rate, seconds }),
        slowestLivez(server, seconds),
      ])
      all.push(summary(name, `${rate} requests/s`, result, result.times, livezMs))
      await restoreRows(url, rows)
    }
  }
  await server.stop()
  return againstPeak(all)
}

function summary(name: string, load: string, result: LoadResult, times: Times, livezMs: number | undefined): Overload {
  const answers = answersOf(result)
  const unavailable = result.statuses[503] ?? 0
  const timesOf503 = times.get(503)
  const goodput = okOf(result) / result.seconds
  console.error(`${name}  ${load}  ${goodput.toFixed(0)}/s`)
  return {
    ...{ name, load, goodput, toPeak: Number.NaN, share503: unavailable / answers },
    p99Of503Ms: timesOf503 && percentile(timesOf503, 99),
    p99Ms: result.p99Ms,
    livezMs,
    wrong: answers - okOf(result) - unavailable + result.errors,
  }
}

function againstPeak(all: Overload[]): Overload[] {
  return all.map((one) => {
    const peak = Math.max(...all.filter(({ name }) => name === one.name).map(({ goodput }) => goodput))
    return { ...one, toPeak: one.goodput / peak }
  })
}

/** Asks now and then for as long as a load lasts. */
async function slowestLivez({ base }: Server, seconds: number): Promise<number | undefined> {
  const end = performance.now() + seconds * 1_000
  let slowest = 0
  while (performance.now() < end) {
    const asked = performance.now()
    const answer = await fetch(`${base}/livez`, { signal: AbortSignal.timeout(5_000) }).catch(() => undefined)
    await answer?.text()
    if (!answer?.ok) return undefined
    slowest = Math.max(slowest, performance.now() - asked)
    await sleep(250)
  }
  return slowest
}

function startService(postgres: Postgres, url: string, cleanup: Cleanup, env = {}): Promise<Server> {
  const [service] = variants
  if (!service) throw new Error('The service comes first')
  return startServer(service, postgres, url, cleanup, env)
}

export function overloadTable(all: Overload[]): string {
  return table([
    ['overload', 'load', '2xx/s', 'to peak', '503 %', 'p99 ms', 'p99 of 503', '/livez ms', 'wrong'],
    ...all.map((one) => [
      one.name,
      one.load,
      fixed(one.goodput, 0),
      fixed(one.toPeak, 2),
      fixed(one.share503 * 100, 1),
      fixed(one.p99Ms, 1),
      fixed(one.p99Of503Ms, 1),
      one.livezMs === undefined ? 'SILENT' : fixed(one.livezMs, 1),
      String(one.wrong),
    ]),
  ])
}
