import type { RunStatement, Statements } from '../database/statements.ts'
import { type Animal, INT64_MAX, INT64_MIN, PAGE_SIZE, type PetStatus } from './animal.ts'
import type { Filter } from './cursor.ts'
import { type AnimalArrays, SELECT_ARRAYS, toAnimals } from './queries.ts'

/** Selects the animals of a filter between two ids (both exclusive), starting at the newest or at the oldest. */
export interface ListQuery extends Filter {
  limit: number
  olderThan?: bigint | undefined
  newerThan?: bigint | undefined
  backward?: boolean
  /** With a `liveCursor`, which is of the primary: a replica may lack commits that are not on disk. */
  onPrimary?: boolean
}

/** For each kind of filter the index that has the order of its lists: its columns, and their values, without the id's. */
const KEYS = {
  none: { columns: ['id'], values: [] },
  status: { columns: ['status', 'id'], values: ['page.status'] },
  category: { columns: ['category_id', 'id'], values: ['page."categoryId"'] },
  // The status is first, as it may be NULL: behind the category, a scan would read all animals of it without a status.
  both: { columns: ['status', 'category_id', 'id'], values: ['page.status', 'page."categoryId"'] },
}

/** Selects several pages, each as one row. */
function selectPages(filter: keyof typeof KEYS, backward: boolean): string {
  const { columns, values } = KEYS[filter]
  const [first, last] = backward ? (['oldest', 'newest'] as const) : (['newest', 'oldest'] as const)
  const compare = (operator: string, bound: string) =>
    `(${columns.join(', ')}) ${operator} (${[...values, `page.${bound}`].join(', ')})`
  const direction = backward ? 'ASC' : 'DESC'
  const order = `ORDER BY ${columns.map((column) => `${column} ${direction}`).join(', ')}`
  // Why it is written like this (decision 24):
  // - Row comparison: only one index serves it. With `status = …`, PostgreSQL may walk along the primary key instead.
  // - Last bound after LIMIT: before PostgreSQL 18, a scan does not stop at the bound of a row comparison.
  // - Constant LIMIT: without it, the estimated cost may exceed jit_above_cost, and each execution be compiled.
  // - LIMIT page.size without ORDER BY: it keeps the order of the subquery, and PostgreSQL sorts nothing.
  const range = `
    SELECT * FROM (
      SELECT * FROM (
        SELECT * FROM "public"."animal"
        WHERE ${compare(backward ? '>=' : '<=', first)}
        ${order} LIMIT ${PAGE_SIZE.max + 1}
      ) AS animal
      LIMIT page.size
    ) AS animal
    WHERE ${compare(backward ? '<=' : '>=', last)}`
  return `
    SELECT page.n, animals.*
    FROM json_to_recordset($1::json)
      AS page (n int, status "public"."pet_status", "categoryId" bigint, oldest bigint, newest bigint, size int)
    CROSS JOIN LATERAL (
      SELECT ${SELECT_ARRAYS} FROM (${range}) AS animal
    ) AS animals`
}

/** An element of the parameter of selectPages. In JSON, int64 is text. */
type PageQuery = {
  status: PetStatus | undefined
  categoryId: string | undefined
  oldest: string
  newest: string
  size: number
}

export type List = ReturnType<typeof createList>

export function createList({ batch }: Statements, onReplicas = true) {
  const batchPages = (filter: keyof typeof KEYS, backward: boolean) =>
    batch({
      text: selectPages(filter, backward),
      onReplicas,
      toValues: (pages: PageQuery[]) => [JSON.stringify(pages.map((page, n) => ({ n, ...page })))],
      toOutputs(rows: (AnimalArrays & { n: number })[], pages) {
        const found = new Map(rows.map((row) => [row.n, toAnimals(row)]))
        return pages.map((_page, n) => found.get(n) ?? [])
      },
    })
  const batchBoth = (filter: keyof typeof KEYS) => ({
    forward: batchPages(filter, false),
    backward: batchPages(filter, true),
  })
  const pages = {
    none: batchBoth('none'),
    status: batchBoth('status'),
    category: batchBoth('category'),
    both: batchBoth('both'),
  }

  /** The animals of a page and one more if there is one: newest first, or oldest first when `backward`. */
  return async ({ status, categoryId, limit, olderThan, newerThan, backward }: ListQuery): Promise<Animal[]> => {
    const newest = olderThan === undefined ? INT64_MAX : olderThan - 1n
    const oldest = newerThan === undefined ? INT64_MIN : newerThan + 1n
    if (oldest > newest) return [] // so both are int64 below
    const filter = categoryId === undefined ? (status ? 'status' : 'none') : status ? 'both' : 'category'
    return pages[filter][backward ? 'backward' : 'forward']({
      status,
      categoryId: categoryId?.toString(),
      oldest: String(oldest),
      newest: String(newest),
      size: limit + 1,
    })
  }
}

const COUNT = 'SELECT count(*) FROM "public"."animal"'

/** @param run executes one at a time: the time of a count grows with its result */
export function createCount(run: RunStatement) {
  const read = async (text: string, ...values: unknown[]) => {
    const rows = await run<{ count: bigint }>(text, values)
    return Number(rows[0]?.count)
  }
  return ({ status, categoryId }: Filter): Promise<number> => {
    if (categoryId === undefined) return status ? read(`${COUNT} WHERE status = $1`, status) : read(COUNT)
    const ofCategory = `${COUNT} WHERE category_id = $1`
    if (!status) return read(ofCategory, categoryId)
    return read(`${ofCategory} AND status = $2`, categoryId, status)
  }
}
