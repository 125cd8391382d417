import type { FieldError } from '../errors.ts'
import type { Resource } from './resource.ts'
import { columnOf } from './table.ts'

type References = NonNullable<Resource['references']>

/** SQL: the members of `input` that refer to no row. A scalar subquery is a lookup by primary key in every plan. */
export function selectAbsent(references: References): string {
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
