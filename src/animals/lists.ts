import type { Statements } from '../database/statements.ts'
import { type Animal, INT64_MAX, INT64_MIN, PAGE_SIZE, PetStatus } from './animal.ts'
import { type Filter, filterKey } from './cursor.ts'
import { type AnimalArrays, SELECT_ARRAYS, toAnimals } from './queries.ts'

/** Selects the animals of a filter between two ids (both exclusive), starting at the newest or at the oldest. */
export interface ListQuery extends Filter {
  limit: number
  olderThan?: bigint | undefined
  newerThan?: bigint | undefined
  backward?: boolean
}

/** A number for each status, and for none: a row comparison with NULL selects nothing. An index has this expression. */
const numberOf = (status: string) =>
  `CASE ${status} ${PetStatus.options.map((name, n) => `WHEN '${name}' THEN ${n + 1}`).join(' ')} ELSE 0 END`

/** For each kind of filter the index that has the order of its lists: its columns, and their values, without the id's. */
const KEYS = {
  none: { columns: ['id'], values: [] },
  status: { columns: ['status', 'id'], values: ['page.status'] },
  category: {
    columns: ['category_id', numberOf('status'), 'id'],
    values: ['page."categoryId"', numberOf('filter.status')],
  },
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
  // The index orders a category by status first, so a page merges the first animals of each status.
  const ofEachStatus = `
    SELECT animal.*
    FROM unnest('{${PetStatus.options.join()},NULL}'::pet_status[]) AS filter (status)
    CROSS JOIN LATERAL (${range}) AS animal
    WHERE page.status IS NULL OR page.status = filter.status
    ORDER BY animal.id ${direction} LIMIT page.size`
  return `
    SELECT page.n, animals.*
    FROM json_to_recordset($1::json)
      AS page (n int, status pet_status, "categoryId" bigint, oldest bigint, newest bigint, size int)
    CROSS JOIN LATERAL (
      SELECT ${SELECT_ARRAYS} FROM (${filter === 'category' ? ofEachStatus : range}) AS animal
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

export function createList({ batch }: Statements) {
  const batchPages = (filter: keyof typeof KEYS, backward: boolean) =>
    batch({
      text: selectPages(filter, backward),
      onReplicas: true,
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
  const [none, byStatus, byCategory] = [batchBoth('none'), batchBoth('status'), batchBoth('category')]

  /** The animals of a page and one more if there is one: newest first, or oldest first when `backward`. */
  return async ({ status, categoryId, limit, olderThan, newerThan, backward }: ListQuery): Promise<Animal[]> => {
    const newest = olderThan === undefined ? INT64_MAX : olderThan - 1n
    const oldest = newerThan === undefined ? INT64_MIN : newerThan + 1n
    if (oldest > newest) return [] // so both are int64 below
    const pages = categoryId !== undefined ? byCategory : status ? byStatus : none
    return pages[backward ? 'backward' : 'forward']({
      status,
      categoryId: categoryId?.toString(),
      oldest: String(oldest),
      newest: String(newest),
      size: limit + 1,
    })
  }
}

const COUNTED = [
  'filter.status IS NULL AND filter."categoryId" IS NULL',
  'filter."categoryId" IS NULL AND animal.status = filter.status',
  'filter.status IS NULL AND animal.category_id = filter."categoryId"',
  `filter.status IS NOT NULL AND animal.category_id = filter."categoryId"
      AND ${numberOf('animal.status')} = ${numberOf('filter.status')}`,
].map((condition) => `(SELECT count(*) FROM "public"."animal" WHERE ${condition})`)

/**
 * Counts the animals of each filter, by an index: by its statistics, PostgreSQL may read the whole table for each of many
 * categories that have no animals. It executes none of the subqueries in parallel, because all refer to the row of the
 * filter: parallel workers would take the CPU from other statements.
 */
const COUNT = `
  SELECT filter.*, ${COUNTED.join(' + ')} AS count
  FROM unnest($1::pet_status[], $2::bigint[]) AS filter (status, "categoryId")`

/**
 * Without JIT, which would compile every execution, for longer than most counts take. The settings are of the transaction,
 * because a pooler may share the connection.
 */
const BEGIN_COUNT = 'BEGIN; SET LOCAL enable_seqscan = off; SET LOCAL jit = off'

type CountRow = { status: PetStatus | null; categoryId: bigint | null; count: bigint }

export function createCount({ batch }: Statements): (filter: Filter) => Promise<number> {
  return batch({
    text: COUNT,
    begin: BEGIN_COUNT,
    maxSize: Number.MAX_SAFE_INTEGER,
    toValues(filters) {
      const distinct = [...new Map(filters.map((filter) => [filterKey(filter), filter])).values()]
      return [distinct.map(({ status }) => status ?? null), distinct.map(({ categoryId }) => categoryId ?? null)]
    },
    toOutputs(rows: CountRow[], filters) {
      const keyOf = ({ status, categoryId }: CountRow) =>
        filterKey({ status: status ?? undefined, categoryId: categoryId ?? undefined })
      const counts = new Map(rows.map((row) => [keyOf(row), Number(row.count)]))
      return filters.map((filter) => counts.get(filterKey(filter)) ?? 0)
    },
  })
}
