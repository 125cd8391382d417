import { type GraphQLSchema, isObjectType, lexicographicSortSchema, printSchema } from 'graphql'
import { type AddToSchema, createBuilder } from './builder.ts'
import { addPageInfo } from './connection.ts'

/** The executable schema of some resources. @throws Error for a root field without a scope: every caller could use it */
export function createSchema(resources: { addToSchema: AddToSchema }[]): GraphQLSchema {
  const builder = createBuilder()
  builder.queryType({ description: 'Queries.' })
  builder.mutationType({ description: 'Mutations.' })
  builder.subscriptionType({ description: 'Subscriptions, as Server-Sent Events.' })
  addPageInfo(builder)
  for (const { addToSchema } of resources) addToSchema(builder)
  const schema = builder.toSchema()
  requireScopes(schema)
  describeCosts(schema)
  return schema
}

/** The text of `schema.graphql`: sorted, so that a diff shows only what changed. */
export function printedSchema(schema: GraphQLSchema): string {
  return `${printSchema(lexicographicSortSchema(schema))}\n`
}

function requireScopes(schema: GraphQLSchema): void {
  for (const type of [schema.getQueryType(), schema.getMutationType(), schema.getSubscriptionType()]) {
    const open = Object.values(type?.getFields() ?? {}).find(({ extensions }) => !extensions.scope)
    if (open) throw new Error(`${type}.${open.name} has no scope.`)
  }
}

/** Appends each constant cost to the description of its field. */
function describeCosts(schema: GraphQLSchema): void {
  for (const type of Object.values(schema.getTypeMap()).filter(isObjectType)) {
    for (const field of Object.values(type.getFields())) {
      const { cost } = field.extensions
      if (typeof cost === 'number') field.description += ` Costs ${cost}.`
    }
  }
}
