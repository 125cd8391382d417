import type { Statements } from '../database/statements.ts'
import type { FieldError } from '../errors.ts'
import type { Created, Input, Item, Resource } from './resource.ts'
import { absentFields, describeTable, selectAbsent } from './table.ts'

export function createLookup<R extends Resource>(resource: R, { batch }: Statements) {
  const { name, selectList } = describeTable(resource)
  return batch({
    // The parameter in a SELECT: PostgreSQL would otherwise plan the statement again for each small number of ids.
    text: `SELECT ${selectList} FROM ${name} AS item WHERE id = ANY((SELECT $1::bigint[])::bigint[])`,
    onReplicas: true,
    toValues: (ids: bigint[]) => [`{${ids.join()}}`],
    toOutputs(items: Item<R>[], ids) {
      const found = new Map(items.map((item) => [item.id, item]))
      return ids.map((id) => found.get(id))
    },
  })
}

/** Draws the ids in the order of arrival: INSERT evaluates default values after ORDER BY. */
function insertAll(resource: Resource): string {
  const { name, inserted, returned } = describeTable(resource)
  const insertFrom = (source: string) => `
    INSERT INTO ${name} AS item (${inserted()})
    SELECT ${inserted('input.')}
    FROM ${source}
    ORDER BY input.ordinality
    RETURNING ${returned}`
  const rows = `json_populate_recordset(NULL::${name}, $1::json) WITH ORDINALITY AS input`
  if (!resource.references) return insertFrom(rows)
  // An input that refers to no row draws no id, for whose row the feed would wait, and fails no other one.
  return `
    WITH input AS MATERIALIZED (
      SELECT input.*, ${selectAbsent(resource.references)} AS absent_members FROM ${rows}
    ), created AS (
      ${insertFrom("input WHERE absent_members = '{}'")}
    ), absent AS (
      SELECT ordinality AS absent_n, absent_members FROM input WHERE absent_members <> '{}'
    )
    SELECT * FROM created FULL JOIN absent ON false`
}

/** A row of insertAll: a created item with what PostgreSQL adds, or an input, counted from 1, that refers to no row. */
interface InsertRow extends Record<string, unknown> {
  id: bigint | null
  absent_n?: bigint | null
  absent_members?: string[]
}

function isCreated(row: InsertRow): row is InsertRow & { id: bigint } {
  return row.id !== null
}

/** @returns a function that resolves to the item, or to why nothing was inserted */
export function createInsert<R extends Resource>(resource: R, { batch }: Statements) {
  const { toRow, toItem } = describeTable(resource)
  return batch({
    text: insertAll(resource),
    toValues: (inputs: Input<R>[]) => [JSON.stringify(inputs.map(toRow))],
    toOutputs(rows: InsertRow[], inputs): (Created<R> | FieldError[])[] {
      // A trigger that skips a row would give its id to another item.
      if (rows.length !== inputs.length) throw new Error(`INSERT returned ${rows.length} of ${inputs.length} ids`)
      const absent = new Map(
        rows.flatMap(({ absent_n: n, absent_members: members }) => (n && members ? [[Number(n) - 1, members]] : [])),
      )
      // The ids were drawn in the order of arrival; nothing promises that RETURNING keeps this order.
      const created = rows.filter(isCreated).toSorted((a, b) => (a.id < b.id ? -1 : 1))
      return inputs.map((input, n) => {
        const members = absent.get(n)
        if (members) return absentFields(resource, members)
        return { item: toItem(created.shift() ?? {}, input), replayed: false }
      })
    },
  })
}
