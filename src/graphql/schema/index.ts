import { type GraphQLSchema, isObjectType, lexicographicSortSchema, printSchema } from 'graphql'
import { builder } from './builder.ts'
import './animal.ts'
import './mutation.ts'
import './subscription.ts'

/** The executable schema, built from the types that the imports above register. */
export const schema = describeCosts(requireScopes(builder.toSchema()))

/** The text of `schema.graphql`: sorted, so that a diff shows only what changed. */
export function printedSchema(): string {
  return `${printSchema(lexicographicSortSchema(schema))}\n`
}

/** @throws Error for a root field without a scope: every caller could use it */
export function requireScopes(built: GraphQLSchema): GraphQLSchema {
  for (const type of [built.getQueryType(), built.getMutationType(), built.getSubscriptionType()]) {
    const open = Object.values(type?.getFields() ?? {}).find(({ extensions }) => !extensions.scope)
    if (open) throw new Error(`${type}.${open.name} has no scope.`)
  }
  return built
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
