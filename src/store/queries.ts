import type { Statements } from '../database/statements.ts'
import type { Input, Item, Resource } from './resource.ts'
import { describeTable } from './table.ts'

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

export function createInsert<R extends Resource>(resource: R, { batch }: Statements) {
  const { name, inserted, returned, toRow, toItem } = describeTable(resource)
  return batch({
    // It draws the ids in the order of arrival: INSERT evaluates default values after ORDER BY.
    text: `
      INSERT INTO ${name} AS item (${inserted()})
      SELECT ${inserted('input.')}
      FROM json_populate_recordset(NULL::${name}, $1::json) WITH ORDINALITY AS input
      ORDER BY input.ordinality
      RETURNING ${returned}`,
    toValues: (inputs: Input<R>[]) => [JSON.stringify(inputs.map(toRow))],
    toOutputs(rows: { id: bigint }[], inputs) {
      // A trigger that skips a row would give its id to another item.
      if (rows.length !== inputs.length) throw new Error(`INSERT returned ${rows.length} of ${inputs.length} ids`)
      // The ids were drawn in the order of arrival; nothing promises that RETURNING keeps this order.
      const ordered = rows.toSorted((a, b) => (a.id < b.id ? -1 : 1))
      return inputs.map((input, n) => toItem(ordered[n] ?? {}, input))
    },
  })
}
