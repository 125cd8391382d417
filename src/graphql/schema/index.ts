import { type GraphQLSchema, isObjectType, lexicographicSortSchema, printSchema } from 'graphql'
import { type AddToSchema, createBuilder } from './builder.ts'
import { addPageInfo } from './connection.ts'

/** The executable schema of some resources. @throws Error for a root field without a scope or a cost */
export function createSchema(resources: { addToSchema: AddToSchema }[]): GraphQLSchema {
  const builder = createBuilder()
  builder.queryType({ description: 'Queries.' })
  builder.mutationType({ description: 'Mutations.' })
  builder.subscriptionType({ description: 'Subscriptions, as Server-Sent Events or `multipart/mixed`.' })
  addPageInfo(builder)
  for (const { addToSchema } of resources) addToSchema(builder)
  const schema = builder.toSchema()
  requireExtensions(schema)
  describeCosts(schema)
  return schema
}

/** The text of `schema.graphql`: sorted, so that a diff shows only what changed. */
export const printedSchema = (schema: GraphQLSchema): string => `${printSchema(lexicographicSortSchema(schema))}\n`

/** Without a scope, every caller could use a root field; without a cost, callers could use it as often as they want. */
function requireExtensions(schema: GraphQLSchema): void {
  for (const type of [schema.getQueryType(), schema.getMutationType(), schema.getSubscriptionType()]) {
    for (const { name, extensions } of Object.values(type?.getFields() ?? {})) {
      if (!extensions.scope || !extensions.cost) throw new Error(`${type}.${name} needs a scope and a cost.`)
    }
  }
}

function describeCosts(schema: GraphQLSchema): void {
  for (const type of Object.values(schema.getTypeMap()).filter(isObjectType)) {
    for (const field of Object.values(type.getFields())) {
      const { cost } = field.extensions
      if (typeof cost === 'number') field.description = `${field.description ?? ''} Costs ${cost}.`.trimStart()
    }
  }
}
