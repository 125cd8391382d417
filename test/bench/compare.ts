import { check, WrongAnswer } from './check.ts'
import type { Cleanup } from './cleanup.ts'
import { countCreated, type Postgres, restoreRows } from './database.ts'
import { type Conditions, measure, type Measured, warmUp } from './measure.ts'
import { type Server, startServer } from './servers.ts'
import type { Variant } from './variants.ts'
import { type Ask, asksOf, type Work } from './workloads.ts'

/** All rounds of one variant at one work. */
export interface Series {
  work: Work
  variant: Variant
  rounds: Measured[]
}

/** Samples looked into before anything is measured. */
const SAMPLES = 5

/** What is the same for all works of a run. */
interface Run {
  url: string
  rows: number
  rounds: number
  conditions: Conditions
}

/** Measures each work with each variant that has its face, all in one run on one database. */
export async function compare(
  { variants, works, rounds, rows }: { variants: Variant[]; works: Work[]; rounds: number; rows: number },
  postgres: Postgres,
  conditions: Conditions,
  cleanup: Cleanup,
): Promise<Series[]> {
  const url = await postgres.create('bench', rows)
  const wanted = variants.filter(({ faces }) => works.some(({ face }) => faces.includes(face)))
  const servers: Server[] = []
  for (const variant of wanted) servers.push(await startServer(variant, postgres, url, cleanup))
  const all: Series[] = []
  for (const work of works) {
    const able = servers.filter(({ variant }) => variant.faces.includes(work.face))
    all.push(...(await compareAt(work, able, { url, rows, rounds, conditions })))
  }
  for (const server of servers) await server.stop()
  return all
}

/** A B C, then C B A: a machine that grows slower or faster favours nobody. Who answers wrongly is left out, aloud. */
async function compareAt(work: Work, servers: Server[], run: Run): Promise<Series[]> {
  const asks = new Map(servers.map((server) => [server, asksOf(work, server.variant.dialect, run.rows)]))
  const series = new Map(
    servers.map((server): [Server, Series] => [server, { work, variant: server.variant, rounds: [] }]),
  )

  const trying = async (server: Server, attempt: (asks: Ask[], series: Series) => Promise<void>) => {
    const own = series.get(server)
    if (!own) return // left out already
    try {
      await attempt(asks.get(server) ?? [], own)
    } catch (error) {
      if (!(error instanceof WrongAnswer)) throw error
      console.error(error.message)
      series.delete(server)
      process.exitCode = 1
    }
    if (work.action === 'create') await restoreRows(run.url, run.rows)
  }

  for (const server of servers) {
    await trying(server, async (asks) => {
      for (const ask of asks.slice(0, SAMPLES)) await check(server, ask)
      await warmUp(server, asks, run.conditions)
    })
  }
  for (let round = 0; round < run.rounds; round++) {
    for (const server of round % 2 ? servers.toReversed() : servers) {
      await trying(server, async (asks, { rounds }) => {
        const measured = await measure(server, asks, run.conditions)
        if (work.action === 'create') await requireStored(measured, run)
        rounds.push(measured)
        console.error(`${work.name}  round ${round + 1}  ${server.name}  ${Math.round(measured.perSecond)}/s`)
      })
    }
  }
  return [...series.values()]
}

/** @throws WrongAnswer when fewer animals were stored than answers said so */
async function requireStored({ answers }: Measured, { url, rows }: Run): Promise<void> {
  const stored = await countCreated(url, rows)
  if (stored < answers) throw new WrongAnswer(`${answers} answers, but ${stored} animals were stored`)
}
