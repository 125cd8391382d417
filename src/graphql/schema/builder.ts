import SchemaBuilder from '@pothos/core'
import type { Animals } from '../../animals/service.ts'
import type { Caller } from '../../auth/api-keys.ts'
import type { Deadline } from '../../http/deadline.ts'

declare module 'graphql' {
  // The parameters must be those of the original declaration.
  // oxlint-disable-next-line no-unused-vars
  interface GraphQLFieldExtensions<_TSource, _TContext, _TArgs> {
    /** Points of the rate limit that the field consumes, without its subfields; default 0. */
    cost?: number | ((args: _TArgs) => number)
  }

  interface GraphQLInputObjectTypeExtensions {
    /** Checks a value against the contract, also one that GraphQL does not accept. @returns what is wrong with it */
    validate?: (input: Record<string, unknown>) => { path: PropertyKey[]; message: string }[]
  }
}

/** The context of resolvers. */
export interface GraphQLContext {
  animals: Animals
  /** Only in a mutation: requests of several callers may share the execution of a query. */
  caller: Caller | undefined
  /** Every wait for the database goes through it. */
  deadline: Deadline
}

/** The caller of a mutation. @throws Error in a query */
export function requireCaller({ caller }: GraphQLContext): Caller {
  if (!caller) throw new Error('Only mutations have a caller')
  return caller
}

export type Types = typeof builder extends PothosSchemaTypes.SchemaBuilder<infer T> ? T : never

export const builder = new SchemaBuilder<{
  Context: GraphQLContext
  DefaultFieldNullability: false
  Scalars: { ID: { Input: string; Output: string } }
}>({ defaultFieldNullability: false })

builder.queryType({ description: 'Queries.' })
builder.mutationType({ description: 'Mutations.' })
