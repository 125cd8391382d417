import { lexicographicSortSchema, printSchema } from 'graphql'
import { builder } from './builder.ts'
import './animal.ts'

/** The executable schema, built from the types that the import above registers. */
export const schema = builder.toSchema()

/** The schema as `schema.graphql` at the root has it: sorted, so that a change shows as itself. */
export function printedSchema(): string {
  return `${printSchema(lexicographicSortSchema(schema))}\n`
}
