import type { z } from 'zod'

/** What the kits need of a resource (decision 32). Its table has the members in snake_case, and ids of a sequence. */
export interface Resource {
  /** The name that messages, cursors and idempotency keys use. */
  name: string
  /** The noun for one item, in messages. */
  noun: string
  /** The name of its table in the schema `public`. */
  table: string
  /** What is stored: the id, the members of `input`, and what PostgreSQL adds. `z.iso.datetime()` is a column TIMESTAMPTZ. */
  item: Schema
  /** What clients send to create one. */
  input: Schema
  /**
   * The members by which lists are filtered, with their SQL types. Each combination has an index of its columns, in this
   * order, and the id. A nullable column must be first: behind another column, a scan would read all rows with NULL.
   */
  filters: Record<string, string>
  /** The members of `input` that are ids of rows in other tables, with these tables. A foreign key guards each of them. */
  references?: Record<string, string>
  /** The scopes that a caller needs to read items, and to create them. */
  scopes: { read: string; write: string }
  /** Set for the only resource of version 1: its cursors and idempotency keys are as in version 1, without its name. */
  version1?: true
}

type Schema = z.ZodObject<Readonly<Record<string, z.ZodType>>>

/** An item as it is stored: an absent optional member is null. */
export type Item<R extends Resource> = Stored<z.infer<R['item']>> & { id: bigint }
export interface Created<R extends Resource> {
  item: Item<R>
  /** Whether an earlier request created the item. */
  replayed: boolean
}
export type Input<R extends Resource> = z.infer<R['input']>
type Stored<T> = { [K in keyof T]-?: undefined extends T[K] ? Exclude<T[K], undefined> | null : T[K] }

/** Which items a list has: those that have the same value in each member that the filter gives. */
export type Filter<R extends Resource> = {
  [K in keyof R['filters'] & keyof Item<R>]?: NonNullable<Item<R>[K]> | undefined
}

/** The members of the filter that are given, with their values, in the order of the resource's filters. */
export function valuesOf<R extends Resource>({ filters }: R, filter: Filter<R>): [member: string, value: unknown][] {
  const given: Record<string, unknown> = filter
  return Object.keys(filters).flatMap((member) => (given[member] === undefined ? [] : [[member, given[member]]]))
}
