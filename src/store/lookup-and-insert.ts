import type { Statements } from '../database/statements.ts'
import type { FieldError } from '../errors.ts'
import type { Created, Input, Item, Resource } from './resource.ts'
import { absentFields, describeTable, selectAbsent } from './table.ts'

export function createLookupQuery<R extends Resource>(resource: R, { batch }: Statements) {
  const { name, selectList } = describeTable(resource)
  return batch({
    // Without the SELECT around the parameter, PostgreSQL would plan the statement again for each small number of ids.
    text: `SELECT ${selectList} FROM ${name} AS item WHERE id = ANY((SELECT $1::bigint[])::bigint[])`,
    onReplicas: true,
    toValues: (ids: bigint[]) => [`{${ids.join()}}`],
    toOutputs(items: Item<R>[], ids) {
      const found = new Map(items.map((item) => [item.id, item]))
      return ids.map((id) => found.get(id))
    },
  })
}

/** Inserts items with ids in the order of arrival: INSERT evaluates default values, which draw the ids, after ORDER BY. */
function insertAll(resource: Resource): string {
  const { name, insertColumns, returningList } = describeTable(resource)
  const insertFrom = (source: string) => `
    INSERT INTO ${name} AS item (${insertColumns()})
    SELECT ${insertColumns('input.')}
    FROM ${source}
    ORDER BY input.ordinality
    RETURNING ${returningList}`
  const rows = `json_populate_recordset(NULL::${name}, $1::json) WITH ORDINALITY AS input`
  if (!resource.references) return insertFrom(rows)
  // An input that refers to a missing row fails no other input. It draws no id: the feed would wait for its row.
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

/** A row of insertAll: what PostgreSQL adds to a created item, or the number (from 1) of an input that refers to no row. */
type InsertRow = Record<string, unknown> & ({ id: bigint } | { id: null; absent_n: bigint; absent_members: string[] })

/** @returns a function that resolves to the item, or to why nothing was inserted */
export function createInsertQuery<R extends Resource>(resource: R, { batch }: Statements) {
  const { toRow, toItem } = describeTable(resource)
  return batch({
    text: insertAll(resource),
    toValues: (inputs: Input<R>[]) => [JSON.stringify(inputs.map(toRow))],
    toOutputs(rows: InsertRow[], inputs): (Created<R> | FieldError[])[] {
      // After a trigger that skips a row, ids would be given to the wrong items.
      if (rows.length !== inputs.length) throw new Error(`INSERT returned ${rows.length} of ${inputs.length} ids`)
      const absentRows = rows.filter((row) => row.id === null)
      const absent = new Map(absentRows.map((row) => [Number(row.absent_n) - 1, row.absent_members]))
      // The ids were drawn in the order of arrival; nothing promises that RETURNING keeps this order.
      const created = rows.filter((row) => row.id !== null).toSorted((a, b) => (a.id < b.id ? -1 : 1))
      return inputs.map((input, n) => {
        const members = absent.get(n)
        if (members) return absentFields(resource, members)
        return { item: toItem(created.shift() ?? {}, input), replayed: false }
      })
    },
  })
}
