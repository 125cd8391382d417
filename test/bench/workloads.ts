import type { Dialect } from './dialects.ts'
import { pageBelow, type Row, rowOf, zipfIds } from './rows.ts'

export type Api = 'rest' | 'graphql'
export type Action = 'list' | 'get' | 'create'

/** One thing that clients ask for, over and over. */
export interface Workload {
  name: string
  api: Api
  action: Action
  /** Hot: all requests are the same. Spread: ids and cursors are drawn over all rows. */
  spread: boolean
}

/** A request, and the animals that its response must contain; the id of a created one is not known before. */
export interface BenchRequest {
  method: 'GET' | 'POST'
  path: string
  body?: string
  expected: (Omit<Row, 'id'> & { id?: string })[]
}

export const PAGE = 20
const DRAWS = 20_000

export const workloads: Workload[] = (['rest', 'graphql'] as const).flatMap((api) => [
  { name: `${api}-list-hot`, api, action: 'list' as const, spread: false },
  { name: `${api}-list-spread`, api, action: 'list' as const, spread: true },
  { name: `${api}-get-hot`, api, action: 'get' as const, spread: false },
  { name: `${api}-get-spread`, api, action: 'get' as const, spread: true },
  { name: `${api}-create`, api, action: 'create' as const, spread: false },
])

/** The requests of a workload on a table of so many rows: one that is repeated, or many to take in turn. */
export function requestsOf(workload: Workload, dialect: Dialect, rows: number): BenchRequest[] {
  const request = workload.api === 'rest' ? restRequest : graphqlRequest
  if (workload.action === 'create') return [request(workload.action, dialect, undefined, [created])]
  if (workload.action === 'get') {
    const ids = workload.spread ? zipfIds(rows, DRAWS) : [Math.ceil(rows / 2)]
    return ids.map((id) => request('get', dialect, id, [rowOf(id)]))
  }
  if (!workload.spread) return [request('list', dialect, undefined, pageBelow(rows + 1, PAGE))]
  // Not the last rows, below which no page is full: every answer is as large as the next.
  return zipfIds(rows - PAGE, DRAWS).map((id) => request('list', dialect, id + PAGE, pageBelow(id + PAGE, PAGE)))
}

const created = { name: 'Rex', categoryId: '1', status: 'available' as const }

function restRequest(
  action: Action,
  { cursor, restCursor = cursor }: Dialect,
  id: number | undefined,
  expected: BenchRequest['expected'],
): BenchRequest {
  const path = '/v1/pets'
  if (action === 'create') {
    return { method: 'POST', path, body: JSON.stringify({ ...created, categoryId: 1 }), expected }
  }
  if (action === 'get') return { method: 'GET', path: `${path}/${id}`, expected }
  const query = id === undefined ? '' : `?cursor=${encodeURIComponent(restCursor(id))}`
  return { method: 'GET', path: path + query, expected }
}

function graphqlRequest(
  action: Action,
  dialect: Dialect,
  id: number | undefined,
  expected: BenchRequest['expected'],
): BenchRequest {
  const variables = id === undefined ? {} : action === 'get' ? { id: String(id) } : { after: dialect.cursor(id) }
  return { method: 'POST', path: '/graphql', body: JSON.stringify({ query: dialect[action], variables }), expected }
}
