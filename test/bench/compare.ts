import { check, WrongResponse } from './check.ts'
import type { Cleanup } from './cleanup.ts'
import { countCreated, type Postgres, restoreRows } from './database.ts'
import { type Conditions, measure, type Measured, warmUp } from './measure.ts'
import { type Server, startServer } from './servers.ts'
import type { Variant } from './variants.ts'
import { type BenchRequest, requestsOf, type Workload } from './workloads.ts'

/** All rounds of one variant at one workload. */
export interface Series {
  workload: Workload
  variant: Variant
  rounds: Measured[]
}

/** Samples looked into before anything is measured. */
const SAMPLES = 5

/** What is the same for all workloads of a run. */
interface Run {
  url: string
  rows: number
  rounds: number
  conditions: Conditions
}

/** Measures each workload with each variant that has its API, all in one run on one database. */
export async function compare(
  { variants, workloads, rounds, rows }: { variants: Variant[]; workloads: Workload[]; rounds: number; rows: number },
  postgres: Postgres,
  conditions: Conditions,
  cleanup: Cleanup,
): Promise<Series[]> {
  const url = await postgres.create('bench', rows)
  const wanted = variants.filter(({ apis }) => workloads.some(({ api }) => apis.includes(api)))
  const servers: Server[] = []
  for (const variant of wanted) servers.push(await startServer(variant, postgres, url, cleanup))
  const all: Series[] = []
  for (const workload of workloads) {
    const able = servers.filter(({ variant }) => variant.apis.includes(workload.api))
    all.push(...(await compareAt(workload, able, { url, rows, rounds, conditions })))
  }
  for (const server of servers) await server.stop()
  return all
}

/** Runs A B C, then C B A, so that a machine that slows down favours no variant. Logs and skips failing variants. */
async function compareAt(workload: Workload, servers: Server[], run: Run): Promise<Series[]> {
  const requests = new Map(servers.map((server) => [server, requestsOf(workload, server.variant.dialect, run.rows)]))
  const series = new Map(
    servers.map((server): [Server, Series] => [server, { workload, variant: server.variant, rounds: [] }]),
  )

  const attemptOrExclude = async (
    server: Server,
    attempt: (requests: BenchRequest[], series: Series) => Promise<void>,
  ) => {
    const own = series.get(server)
    if (!own) return // left out already
    try {
      await attempt(requests.get(server) ?? [], own)
    } catch (error) {
      if (!(error instanceof WrongResponse)) throw error
      console.error(error.message)
      series.delete(server)
      process.exitCode = 1
    }
    if (workload.action === 'create') await restoreRows(run.url, run.rows)
  }

  for (const server of servers) {
    await attemptOrExclude(server, async (requests) => {
      for (const request of requests.slice(0, SAMPLES)) await check(server, request)
      await warmUp(server, requests, run.conditions)
    })
  }
  for (let round = 0; round < run.rounds; round++) {
    for (const server of round % 2 ? servers.toReversed() : servers) {
      await attemptOrExclude(server, async (requests, { rounds }) => {
        const measured = await measure(server, requests, run.conditions)
        if (workload.action === 'create') await requireStored(measured, run)
        rounds.push(measured)
        console.error(`${workload.name}  round ${round + 1}  ${server.name}  ${Math.round(measured.perSecond)}/s`)
      })
    }
  }
  return [...series.values()]
}

/** @throws WrongResponse if fewer animals are stored than responses acknowledged */
async function requireStored({ responses }: Measured, { url, rows }: Run): Promise<void> {
  const stored = await countCreated(url, rows)
  if (stored < responses) throw new WrongResponse(`${responses} responses, but ${stored} animals were stored`)
}
