import type { z } from 'zod'
import type { FieldError } from '../errors.ts'
import { isInt64, jsonTypeOf } from './types.ts'
import type { Input, Item, Resource } from './resource.ts'

/** A row of `selectArrays`: the values of each member, or null if there are no items. */
export type ColumnArrays = Record<string, unknown[] | null>

/** SQL, by the format of a member in JSON, that selects TIMESTAMPTZ and DATE as text: pg would read them as Date. */
const SELECT_AS_TEXT: Record<string, (column: string) => string> = {
  'date-time': (column) => `to_char(${column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`,
  date: (column) => `to_char(${column}, 'YYYY-MM-DD')`,
}

/**
 * The JSON types that the store may read. Lists, lookups, inserts and events read the same values of them. For other types,
 * such as NUMERIC, the value in a row that pg reads differs from the value in JSON.
 */
const TYPES = new Set<unknown>(['string', 'integer', 'boolean'])

/** How SQL names the table of a resource and the sequence of its ids. */
export function namesOf({ table }: Resource) {
  return { name: `"public"."${table}"`, sequence: `"public"."${table}_id_seq"` }
}

/** How SQL names the table of a resource and its columns, and how its rows become items. */
export function describeTable<R extends Resource>(resource: R) {
  const { item, input } = resource
  const columns = Object.entries(item.shape).map(([member, schema]) => toColumn(member, schema, member in input.shape))
  const inputs = columns.filter(({ isInput }) => isInput)
  const select = (list: typeof columns) => list.map(({ member, selected }) => `${selected} AS "${member}"`).join(', ')

  return {
    ...namesOf(resource),
    /** The members of an item, for SELECT. */
    selectList: select(columns),
    /** Selects items as one row with an array for every member: to read a row for every item would take twice the time. */
    selectArrays: columns
      .map(({ member, selected, isBig }) => `json_agg(${selected}${isBig ? '::text' : ''}) AS "${member}"`)
      .join(', '),
    /** What PostgreSQL adds or changes in an insert, for RETURNING. */
    returningList: select(columns.filter(({ isReturned }) => isReturned)),
    /** The members of the item that was created, or else of the item that a used key refers to. */
    createdOrUsedList: columns
      .map(({ member, isReturned }) =>
        isReturned ? `coalesce(created."${member}", used."${member}") AS "${member}"` : `used."${member}"`,
      )
      .join(', '),
    insertColumns: (prefix: '' | 'input.' = '') => inputs.map(({ column }) => `${prefix}"${column}"`).join(', '),

    /** The columns of an input for json_populate_recordset, which reads numbers exactly from text. */
    toRow(values: Input<R>): Record<string, unknown> {
      const row: Record<string, unknown> = {}
      for (const { member, column } of inputs) row[column] = toJsonValue(values[member])
      return row
    },

    /** The item of a row. Members that the row lacks have the values of the input. */
    toItem(row: Record<string, unknown>, values: Partial<Input<R>> = {}): Item<R> {
      const found: Record<string, unknown> = {}
      for (const { member } of columns) found[member] = row[member] ?? values[member] ?? null
      return found as Item<R> // has every member
    },

    toItems(arrays: ColumnArrays): Item<R>[] {
      const items: Record<string, unknown>[] = (arrays.id ?? []).map(() => ({}))
      for (const { member, isBig } of columns) {
        arrays[member]?.forEach((value, n) => {
          const item = items[n]
          if (item) item[member] = isBig && value !== null ? BigInt(String(value)) : value
        })
      }
      return items as Item<R>[] // with every member
    },
  }
}

/** How SQL names and selects a member of an item. @throws Error for a type that the store does not read */
function toColumn(member: string, schema: z.ZodType, isInput: boolean) {
  const column = columnOf(member)
  const { type, format = '' } = jsonTypeOf(schema)
  const isBig = isInt64(schema)
  if (!isBig && !TYPES.has(type)) throw new Error(`${member}: the store reads no values of this type`)
  const toText = SELECT_AS_TEXT[format]
  return {
    member,
    column,
    isInput,
    /** Whether RETURNING has the member: clients do not send it, or it is not stored as they have sent it. */
    isReturned: !isInput || toText !== undefined,
    /** Whether the member is an int64, which is text in JSON because JSON.parse rounds numbers. */
    isBig,
    selected: toText ? toText(`item."${column}"`) : `item."${column}"`,
  }
}

export function toJsonValue(value: unknown): unknown {
  return typeof value === 'bigint' ? String(value) : value
}

/** schema.prisma maps camelCase to snake_case. */
export function columnOf(member: string): string {
  return member.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}

/** SQL for the members of `input` that refer to no row. In every plan, a scalar subquery is a lookup by primary key. */
export function selectAbsent(references: NonNullable<Resource['references']>): string {
  const members = Object.entries(references).map(([member, table]) => {
    const id = `input."${columnOf(member)}"`
    const row = `SELECT id FROM "public"."${table}" WHERE id = ${id}`
    return `CASE WHEN ${id} IS NOT NULL AND (${row}) IS NULL THEN '${member}' END`
  })
  return `array_remove(ARRAY[${members.join(', ')}], NULL)`
}

/** @returns why nothing was inserted for an input whose members refer to no row */
export function absentFields({ references = {} }: Resource, members: string[]): FieldError[] {
  return members.map((member) => ({ path: [member], message: `no ${references[member]} has this id` }))
}
