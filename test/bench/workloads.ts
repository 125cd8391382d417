import type { Dialect } from './dialects.ts'
import { pageBelow, type Row, rowOf, zipfIds } from './rows.ts'

export type Face = 'rest' | 'graphql'
export type Action = 'list' | 'get' | 'create'

/** One thing that clients ask for, over and over. */
export interface Work {
  name: string
  face: Face
  action: Action
  /** Hot: everybody asks the same. Spread: ids and cursors drawn over all rows. */
  spread: boolean
}

/** A request, and the animals that its answer must hold; a created one has an id that nobody knows before. */
export interface Ask {
  method: 'GET' | 'POST'
  path: string
  body?: string
  expected: (Omit<Row, 'id'> & { id?: string })[]
}

export const PAGE = 20
const DRAWS = 20_000

export const works: Work[] = (['rest', 'graphql'] as const).flatMap((face) => [
  { name: `${face}-list-hot`, face, action: 'list' as const, spread: false },
  { name: `${face}-list-spread`, face, action: 'list' as const, spread: true },
  { name: `${face}-get-hot`, face, action: 'get' as const, spread: false },
  { name: `${face}-get-spread`, face, action: 'get' as const, spread: true },
  { name: `${face}-create`, face, action: 'create' as const, spread: false },
])

/** The requests of a work on a table of so many rows: one that is repeated, or many to take in turn. */
export function asksOf(work: Work, dialect: Dialect, rows: number): Ask[] {
  const ask = work.face === 'rest' ? restAsk : graphqlAsk
  if (work.action === 'create') return [ask(work.action, dialect, undefined, [created])]
  if (work.action === 'get') {
    const ids = work.spread ? zipfIds(rows, DRAWS) : [Math.ceil(rows / 2)]
    return ids.map((id) => ask('get', dialect, id, [rowOf(id)]))
  }
  if (!work.spread) return [ask('list', dialect, undefined, pageBelow(rows + 1, PAGE))]
  // Not the last rows, below which no page is full: every answer is as large as the next.
  return zipfIds(rows - PAGE, DRAWS).map((id) => ask('list', dialect, id + PAGE, pageBelow(id + PAGE, PAGE)))
}

const created = { name: 'Rex', categoryId: '1', status: 'available' as const }

function restAsk(action: Action, { cursor }: Dialect, id: number | undefined, expected: Ask['expected']): Ask {
  const path = '/v1/pets'
  if (action === 'create') {
    return { method: 'POST', path, body: JSON.stringify({ ...created, categoryId: 1 }), expected }
  }
  if (action === 'get') return { method: 'GET', path: `${path}/${id}`, expected }
  const query = id === undefined ? '' : `?cursor=${encodeURIComponent(cursor(id))}`
  return { method: 'GET', path: path + query, expected }
}

function graphqlAsk(action: Action, dialect: Dialect, id: number | undefined, expected: Ask['expected']): Ask {
  const variables = id === undefined ? {} : action === 'get' ? { id: String(id) } : { after: dialect.cursor(id) }
  return { method: 'POST', path: '/graphql', body: JSON.stringify({ query: dialect[action], variables }), expected }
}
