import { isInt64 } from './contract.ts'
import type { Input, Item, Resource } from './resource.ts'

/** A row of `selectArrays`: the values of each member, or null if there are no items. */
export type Arrays = Record<string, unknown[] | null>

/** How SQL names the table of a resource and its columns, and how its rows become items. */
export function describeTable<R extends Resource>({ table, item: { shape }, input }: R) {
  const columns = Object.entries(shape).map(([member, schema]) => ({
    member,
    column: columnOf(member),
    isInput: member in input.shape,
    /** In JSON, int64 is text, because JSON.parse rounds numbers. */
    isInt64: isInt64(schema),
    selected: `item."${columnOf(member)}"`,
  }))
  const inputs = columns.filter(({ isInput }) => isInput)
  const select = (some: typeof columns) => some.map(({ member, selected }) => `${selected} AS "${member}"`).join(', ')

  return {
    name: `"public"."${table}"`,
    sequence: `"public"."${table}_id_seq"`,
    /** Of an item, for SELECT. */
    selectList: select(columns),
    /** Selects items as one row with an array for every member: to read a row for every item would take twice the time. */
    selectArrays: columns
      .map(({ member, selected, isInt64 }) => `json_agg(${selected}${isInt64 ? '::text' : ''}) AS "${member}"`)
      .join(', '),
    /** For RETURNING: the members that clients do not send. */
    returned: select(columns.filter(({ isInput }) => !isInput)),
    inserted: (prefix: '' | 'input.' = '') => inputs.map(({ column }) => `${prefix}"${column}"`).join(', '),

    /** The columns of an input for json_populate_recordset, which reads numbers exactly from text. */
    toRow(values: Input<R>): Record<string, unknown> {
      const row: Record<string, unknown> = {}
      for (const { member, column } of inputs) row[column] = toJsonValue(values[member])
      return row
    },

    /** The item of a row, which may lack the members of an input. */
    toItem(row: Record<string, unknown>, values: Partial<Input<R>> = {}): Item<R> {
      const item: Record<string, unknown> = {}
      for (const { member } of columns) item[member] = row[member] ?? values[member] ?? null
      return item as Item<R> // has every member
    },

    toItems(arrays: Arrays): Item<R>[] {
      const items: Record<string, unknown>[] = (arrays.id ?? []).map(() => ({}))
      for (const { member, isInt64 } of columns) {
        arrays[member]?.forEach((value, n) => {
          const item = items[n]
          if (item) item[member] = isInt64 && value !== null ? BigInt(String(value)) : value
        })
      }
      return items as Item<R>[] // with every member
    },
  }
}

export function toJsonValue(value: unknown): unknown {
  return typeof value === 'bigint' ? String(value) : value
}

/** schema.prisma maps camelCase to snake_case. */
export function columnOf(member: string): string {
  return member.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}
