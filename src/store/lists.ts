import type { ReadRows, Statements } from '../database/statements.ts'
import { INT64_MAX, INT64_MIN, PAGE_SIZE } from './types.ts'
import { type Filter, type Item, type Resource, valuesOf } from './resource.ts'
import { type ColumnArrays, columnOf, describeTable, namesOf, toJsonValue } from './table.ts'

/** Selects the items of a filter between two ids (both exclusive), starting at the newest or at the oldest. */
export type PageRequest<R extends Resource> = Filter<R> & {
  limit: number
  olderThan?: bigint | undefined
  newerThan?: bigint | undefined
  backward?: boolean
  /** Set for a page with a `liveCursor`: the cursor may cover commits that the primary has not flushed and a replica lacks. */
  onPrimary?: boolean
}

/** Selects several pages, each as one row. @param members of the filter */
function selectPages(resource: Resource, members: string[], backward: boolean): string {
  const { name, selectArrays } = describeTable(resource)
  const columns = [...members, 'id'].map((member) => `"${columnOf(member)}"`)
  const [first, last] = backward ? (['oldest', 'newest'] as const) : (['newest', 'oldest'] as const)
  // `page_n`, `newest_id` and the like have an underscore, so no member (camelCase) collides with them.
  const compare = (operator: string, bound: string) =>
    `(${columns.join(', ')}) ${operator} (${[...members.map((member) => `page."${member}"`), `page.${bound}_id`].join(', ')})`
  const direction = backward ? 'ASC' : 'DESC'
  const order = `ORDER BY ${columns.map((column) => `${column} ${direction}`).join(', ')}`
  const types = Object.entries(resource.filters).map(([member, type]) => `, "${member}" ${type}`)
  // Why it is written like this (decision 24):
  // - Only one index can serve a row comparison. With `status = …`, PostgreSQL may walk along the primary key instead.
  // - The last bound is compared after LIMIT, because before PostgreSQL 18 a scan does not stop at this bound.
  // - Without a constant LIMIT, the estimated cost may exceed jit_above_cost, and PostgreSQL compiles each execution.
  // - LIMIT page.max_size has no ORDER BY, because it keeps the order of the subquery: PostgreSQL sorts nothing.
  const range = `
    SELECT * FROM (
      SELECT * FROM (
        SELECT * FROM ${name}
        WHERE ${compare(backward ? '>=' : '<=', first)}
        ${order} LIMIT ${PAGE_SIZE.max + 1}
      ) AS item
      LIMIT page.max_size
    ) AS item
    WHERE ${compare(backward ? '<=' : '>=', last)}`
  return `
    SELECT page.page_n, items.*
    FROM json_to_recordset($1::json)
      AS page (page_n int, oldest_id bigint, newest_id bigint, max_size int${types.join('')})
    CROSS JOIN LATERAL (
      SELECT ${selectArrays} FROM (${range}) AS item
    ) AS items`
}

export type List<R extends Resource> = ReturnType<typeof createListQuery<R>>

/** @param statements their replicas, if they have any, read the pages that are not `onPrimary` */
export function createListQuery<R extends Resource>(resource: R, statements: Statements) {
  const table = describeTable(resource)
  const batchPages = (members: string[], backward: boolean, onReplicas: boolean) =>
    statements.batch({
      text: selectPages(resource, members, backward),
      onReplicas,
      toValues: (pages: object[]) => [JSON.stringify(pages.map((page, n) => ({ page_n: n, ...page })))],
      toOutputs(rows: (ColumnArrays & { page_n: number })[], pages): Item<R>[][] {
        const found = new Map(rows.map((row) => [row.page_n, table.toItems(row)]))
        return pages.map((_page, n) => found.get(n) ?? [])
      },
    })
  const byShape = new Map<string, ReturnType<typeof batchPages>>()

  /** The items of a page: newest first, or oldest first when `backward`. */
  return async (query: PageRequest<R>): Promise<Item<R>[]> => {
    const { limit, olderThan, newerThan, backward = false, onPrimary = false } = query
    const newest = olderThan === undefined ? INT64_MAX : olderThan - 1n
    const oldest = newerThan === undefined ? INT64_MIN : newerThan + 1n
    if (oldest > newest) return [] // this includes bounds outside of int64
    const values = valuesOf(resource, query)
    const members = values.map(([member]) => member)
    // In this JSON an int64 is text, because JSON.stringify has no bigint.
    const page = { oldest_id: String(oldest), newest_id: String(newest), max_size: limit }
    const filter = Object.fromEntries(values.map(([member, value]) => [member, toJsonValue(value)]))
    const key = `${members.join()} ${backward} ${onPrimary}`
    const statement = byShape.get(key) ?? batchPages(members, backward, !onPrimary)
    byShape.set(key, statement)
    return statement({ ...page, ...filter })
  }
}

/**
 * A count is executed
 * - by an index: statistics may lead PostgreSQL to read the whole table for a value that no row has;
 * - without parallel workers, which would take the CPU from other statements;
 * - without JIT, which would compile at every execution, for longer than most executions take.
 */
const BEGIN_COUNT =
  'BEGIN; SET LOCAL enable_seqscan = off; SET LOCAL max_parallel_workers_per_gather = 0; SET LOCAL jit = off'

/** @param readRows executes one count at a time, because the time of a count grows with its result */
export function createCountQuery<R extends Resource>(resource: R, readRows: ReadRows) {
  const { name } = namesOf(resource)
  return async (filter: Filter<R>): Promise<number> => {
    const values = valuesOf(resource, filter)
    const conditions = values.map(([member], n) => `"${columnOf(member)}" = $${n + 1}`)
    const where = conditions.length ? ` WHERE ${conditions.join(' AND ')}` : ''
    const rows = await readRows<{ count: bigint }>(
      `SELECT count(*) FROM ${name}${where}`,
      values.map(([, value]) => value),
      BEGIN_COUNT,
    )
    return Number(rows[0]?.count)
  }
}
