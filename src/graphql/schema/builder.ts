import SchemaBuilder from '@pothos/core'
import type { AnimalFeed as Feed, Animals } from '../../pets/service.ts'
import type { Scope } from '../../auth/api-keys.ts'
import type { Caller } from '../../http/request.ts'
import type { Deadline } from '../../http/deadline.ts'

declare module 'graphql' {
  // The parameters must be those of the original declaration.
  // oxlint-disable-next-line no-unused-vars
  interface GraphQLFieldExtensions<_TSource, _TContext, _TArgs> {
    /** Points of the rate limit that the field consumes, without its subfields; default 0. */
    cost?: number | ((args: _TArgs) => number)
    /** The scope that a caller needs for the field. Each root field has one. */
    scope?: Scope
  }
}

export interface GraphQLContext {
  animals: Animals
  feed: Pick<Feed, 'settledId' | 'requireAssigned' | 'follow'>
  /** Only in a mutation: requests of several callers may share the execution of a query. */
  caller: Caller | undefined
  /** Every wait for the database goes through it. */
  deadline: Deadline
  /** Who receives the events; only while a subscription begins. */
  subscriber?: { clientId: bigint; signal: AbortSignal; lastEventId: string | undefined }
}

export type Types = typeof builder extends PothosSchemaTypes.SchemaBuilder<infer T> ? T : never

export const builder = new SchemaBuilder<{
  Context: GraphQLContext
  DefaultFieldNullability: false
  Scalars: { ID: { Input: string; Output: string } }
}>({ defaultFieldNullability: false })

builder.queryType({ description: 'Queries.' })
builder.mutationType({ description: 'Mutations.' })
builder.subscriptionType({ description: 'Subscriptions, as Server-Sent Events.' })
