import { check } from './check.ts'
import type { Cleanup } from './cleanup.ts'
import type { Postgres } from './database.ts'
import { serviceDialect } from './dialects.ts'
import { type Conditions, measure, type Measured, warmUp } from './measure.ts'
import { fixed, type Spread, spreadOf, table } from './report.ts'
import { pageBelow, randomNumbers } from './rows.ts'
import { startServer } from './servers.ts'
import { variants } from './variants.ts'
import type { BenchRequest } from './workloads.ts'

type Position = 'first' | 'middle' | 'last'

/** A page of a size at a place, on each table. */
export interface Growth {
  limit: number
  position: Position
  tables: {
    rows: number
    perSecond: Spread
    /** How much more a request costs than on the smallest table: by requests a second, and by CPU of both. */
    slower: Spread
    moreCpu: Spread
  }[]
}

/** A page may cost so much more on a larger table, and no more. */
const ALLOWED = 1.2

/** What a page costs where the table grows: service only, each page on each table in turn. */
export async function growth(
  { rows, rounds }: { rows: number; rounds: number },
  postgres: Postgres,
  conditions: Conditions,
  cleanup: Cleanup,
): Promise<Growth[]> {
  const [service] = variants
  if (!service) throw new Error('The service comes first')
  const sizes = [...new Set([1_000, 100_000, Math.max(rows, 100_000)])]
  const servers = []
  for (const size of sizes) {
    console.error(`making ${size} rows`)
    const url = await postgres.create(`rows_${size}`, size)
    servers.push({ size, server: await startServer(service, postgres, url, cleanup) })
  }

  const all: Growth[] = []
  for (const limit of [1, 20, 100]) {
    for (const place of ['first', 'middle', 'last'] as const) {
      const contestants = servers.map((one) => ({
        ...one,
        requests: pages(one.size, limit, place),
        rounds: [] as Measured[],
      })) // filled below
      for (const { server, requests } of contestants) {
        await Promise.all(requests.slice(0, 5).map((request) => check(server, request)))
        await warmUp(server, requests, conditions)
      }
      for (let round = 0; round < rounds; round++) {
        for (const one of round % 2 ? contestants.toReversed() : contestants) {
          one.rounds.push(await measure(one.server, one.requests, conditions))
          console.error(
            `${one.size} rows  ${place} ${limit}  round ${round + 1}  ${one.rounds.at(-1)?.perSecond.toFixed(0)}/s`,
          )
        }
      }
      const smallest = contestants[0]?.rounds ?? []
      all.push({
        limit,
        position: place,
        tables: contestants.map(({ size, rounds }) => compareToSmallest(size, rounds, smallest)),
      })
    }
  }
  for (const { server } of servers) await server.stop()
  return all
}

function compareToSmallest(rows: number, rounds: Measured[], smallest: Measured[]): Growth['tables'][number] {
  const cpu = (one?: Measured) => (one?.serverCpu ?? Number.NaN) + (one?.postgresCpu ?? Number.NaN)
  return {
    rows,
    perSecond: spreadOf(rounds.map((one) => one.perSecond)),
    slower: spreadOf(rounds.map((one, i) => (smallest[i]?.perSecond ?? Number.NaN) / one.perSecond)),
    moreCpu: spreadOf(rounds.map((one, i) => cpu(one) / cpu(smallest[i]))),
  }
}

/** Many pages close to a position, so that concurrent requests differ; there is only one first page. */
function pages(rows: number, limit: number, place: Position): BenchRequest[] {
  const random = randomNumbers(limit)
  const below = () => (place === 'middle' ? rows / 2 : limit + 1) + random() * 200
  const cursors = place === 'first' ? [undefined] : Array.from({ length: 500 }, () => Math.floor(below()))
  return cursors.map((id) => ({
    method: 'GET',
    path: `/v1/pets?limit=${limit}${id === undefined ? '' : `&cursor=${serviceDialect.cursor(id)}`}`,
    expected: pageBelow(id ?? rows + 1, limit),
  }))
}

export function growthTable(all: Growth[]): string {
  const rows = all.flatMap(({ limit, position: place, tables }) =>
    tables.map(({ rows, perSecond, slower, moreCpu }) => [
      `${place} page of ${limit}, ${rows.toLocaleString('en')} rows`,
      fixed(perSecond.median, 0),
      ...[slower.median, slower.min, slower.max, moreCpu.median].map((ratio) => fixed(ratio, 2)),
      slower.median <= ALLOWED ? 'yes' : 'NO',
    ]),
  )
  return table([['cost of a page', 'req/s', 'cost', 'min', 'max', 'CPU', `within ${ALLOWED}`], ...rows])
}
