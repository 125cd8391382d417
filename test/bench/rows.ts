/** The rows of every measured table: each column follows from the id, so that an answer can be checked without a query. */
export interface Row {
  id: string
  name: string
  categoryId: string
  status: 'available' | 'pending' | 'sold' | null
}

/** The oldest rows are sold, and no others: a rare status, far from the newest row. */
export const SOLD_ROWS = 200

/** The large category has every other row, the small one every other of the oldest rows. The rest are of category 0. */
export const LARGE_CATEGORY = '1'
export const SMALL_CATEGORY = '2'
const SMALL_CATEGORY_END = 2 * SOLD_ROWS

const statuses = [null, 'available', 'pending'] as const

export function rowOf(id: number): Row {
  const status = id <= SOLD_ROWS ? 'sold' : (statuses[id % 3] ?? null)
  const categoryId = id % 2 ? LARGE_CATEGORY : id <= SMALL_CATEGORY_END ? SMALL_CATEGORY : '0'
  return { id: String(id), name: `animal ${id}`, categoryId, status }
}

/** SQL that makes rows 1 to count. */
export const insertRows = `
  INSERT INTO animal (name, category_id, status)
  SELECT 'animal ' || id,
    CASE WHEN id % 2 = 1 THEN ${LARGE_CATEGORY} WHEN id <= ${SMALL_CATEGORY_END} THEN ${SMALL_CATEGORY} ELSE 0 END,
    CASE WHEN id <= ${SOLD_ROWS} THEN 'sold' ELSE (ARRAY[NULL, 'available', 'pending']::pet_status[])[id % 3 + 1] END
  FROM generate_series(1, $1::bigint) AS id`

/** A page as the service orders it, newest first: the rows older than an id, all or those of a filter. */
export function pageBelow(id: number, limit: number, { status, categoryId }: Partial<Row> = {}): Row[] {
  const page: Row[] = []
  for (let next = id - 1; next > 0 && page.length < limit; next--) {
    const row = rowOf(next)
    if ((!status || row.status === status) && (!categoryId || row.categoryId === categoryId)) page.push(row)
  }
  return page
}

/**
 * Ids drawn over all rows, a few of them far more often than the rest (Zipf, exponent 0.99, as YCSB draws). The same
 * draws in every run; which rows are the popular ones is spread over the table.
 */
export function zipfIds(rows: number, count: number): number[] {
  const upTo = new Float64Array(rows)
  let sum = 0
  for (let rank = 0; rank < rows; rank++) upTo[rank] = sum += (rank + 1) ** -0.99
  const random = randomNumbers(7)
  return Array.from({ length: count }, () => 1 + ((firstAtLeast(upTo, random() * sum) * 7_919) % rows))
}

function firstAtLeast(sorted: Float64Array, wanted: number): number {
  let low = 0
  let high = sorted.length - 1
  while (low < high) {
    const middle = (low + high) >> 1
    if ((sorted[middle] ?? 0) < wanted) low = middle + 1
    else high = middle
  }
  return low
}

/** Numbers from 0 to 1 that are the same in every run (mulberry32). */
export function randomNumbers(seed: number): () => number {
  return () => {
    seed = (seed + 0x6d2b79f5) | 0
    let t = Math.imul(seed ^ (seed >>> 15), seed | 1)
    t = (t + Math.imul(t ^ (t >>> 7), t | 61)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
}
