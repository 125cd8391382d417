import { check } from './check.ts'
import type { Cleanup } from './cleanup.ts'
import type { Postgres } from './database.ts'
import { serviceDialect } from './dialects.ts'
import { type Conditions, measure, type Measured, warmUp } from './measure.ts'
import { fixed, type Spread, spreadOf, table } from './report.ts'
import { LARGE_CATEGORY, pageBelow, randomNumbers, SMALL_CATEGORY, SOLD_ROWS } from './rows.ts'
import { startServer } from './servers.ts'
import { variants } from './variants.ts'
import type { BenchRequest } from './workloads.ts'

/** A page of a size at a place, of all rows or of those of a filter: only GraphQL has one for the category. */
interface Page {
  limit: number
  position: 'first' | 'middle' | 'last'
  status?: 'available' | 'pending' | 'sold'
  categoryId?: string
}

/** A page on each table. */
export interface Growth extends Page {
  tables: {
    rows: number
    perSecond: Spread
    /** How much more a request costs than on the smallest table: by requests a second, and by CPU of both. */
    slower: Spread
    moreCpu: Spread
  }[]
}

const PAGES: Page[] = [
  ...[1, 20, 100].flatMap((limit) => (['first', 'middle', 'last'] as const).map((position) => ({ limit, position }))),
  ...(['available', 'pending', 'sold'] as const).map((status) => ({ limit: 20, position: 'middle' as const, status })),
  { limit: 20, position: 'middle', categoryId: LARGE_CATEGORY },
  { limit: 20, position: 'middle', categoryId: LARGE_CATEGORY, status: 'sold' },
  { limit: 20, position: 'middle', categoryId: SMALL_CATEGORY },
]

const PAGE_OF_CATEGORY = `
  query ($first: Int, $after: String, $status: PetStatus, $categoryId: ID) {
    pets(first: $first, after: $after, status: $status, categoryId: $categoryId) { nodes { id name categoryId status } }
  }`

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
  for (const page of PAGES) {
    const contestants = servers.map((one) => ({
      ...one,
      requests: requestsOf(page, one.size),
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
          `${one.size} rows  ${nameOf(page)}  round ${round + 1}  ${one.rounds.at(-1)?.perSecond.toFixed(0)}/s`,
        )
      }
    }
    const smallest = contestants[0]?.rounds ?? []
    all.push({
      ...page,
      tables: contestants.map(({ size, rounds }) => compareToSmallest(size, rounds, smallest)),
    })
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
function requestsOf({ limit, position, ...filter }: Page, rows: number): BenchRequest[] {
  const { status, categoryId } = filter
  const random = randomNumbers(limit)
  const isOld = status === 'sold' || categoryId === SMALL_CATEGORY
  const middle = (isOld ? SOLD_ROWS : rows) / 2
  const below = () => (position === 'middle' ? middle : limit + 1) + random() * 200
  const cursors = position === 'first' ? [undefined] : Array.from({ length: 500 }, () => Math.floor(below()))
  return cursors.map((id) => {
    const expected = pageBelow(id ?? rows + 1, limit, filter)
    const key = categoryId ? `${status ?? 'all'},${categoryId}` : status
    const cursor = id === undefined ? undefined : serviceDialect.cursor(id, key)
    if (categoryId) {
      const variables = { ...filter, first: limit, after: cursor }
      return {
        method: 'POST',
        path: '/graphql',
        body: JSON.stringify({ query: PAGE_OF_CATEGORY, variables }),
        expected,
      }
    }
    const query = [`limit=${limit}`, status && `status=${status}`, cursor && `cursor=${cursor}`]
      .filter(Boolean)
      .join('&')
    return { method: 'GET', path: `/v1/pets?${query}`, expected }
  })
}

function nameOf({ limit, position, status, categoryId }: Page): string {
  return `${position} page of ${limit}${status ? ` ${status}` : ''}${categoryId ? ` in category ${categoryId}` : ''}`
}

export function growthTable(all: Growth[]): string {
  const rows = all.flatMap(({ tables, ...page }) =>
    tables.map(({ rows, perSecond, slower, moreCpu }) => [
      `${nameOf(page)}, ${rows.toLocaleString('en')} rows`,
      fixed(perSecond.median, 0),
      ...[slower.median, slower.min, slower.max, moreCpu.median].map((ratio) => fixed(ratio, 2)),
      slower.median <= ALLOWED ? 'yes' : 'NO',
    ]),
  )
  return table([['cost of a page', 'req/s', 'cost', 'min', 'max', 'CPU', `within ${ALLOWED}`], ...rows])
}
