import { type GraphQLSchema, isObjectType, lexicographicSortSchema, printSchema } from 'graphql'
import { builder } from './builder.ts'
import './animal.ts'
import './mutation.ts'
import './subscription.ts'

/** The executable schema, built from the types that the imports above register. */
export const schema = describeCosts(builder.toSchema())

/** The text of `schema.graphql`: sorted, so that a diff shows only what changed. */
export function printedSchema(): string {
  return `${printSchema(lexicographicSortSchema(schema))}\n`
}

/** Appends each constant cost to the description of its field. */
function describeCosts(built: GraphQLSchema): GraphQLSchema {
  for (const type of Object.values(built.getTypeMap()).filter(isObjectType)) {
    for (const field of Object.values(type.getFields())) {
      const { cost } = field.extensions
      if (typeof cost === 'number') field.description += ` Costs ${cost}.`
    }
  }
  return built
}
