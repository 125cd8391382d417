import SchemaBuilder, { type ArgBuilder } from '@pothos/core'
import type { ResourceServices } from '../../resource-services.ts'
import type { Caller } from '../../http/request.ts'
import type { Deadline } from '../../http/deadline.ts'

declare module 'graphql' {
  // The parameters must be those of the original declaration.
  // oxlint-disable-next-line no-unused-vars
  interface GraphQLFieldExtensions<_TSource, _TContext, _TArgs> {
    /** Points of the rate limit that the field consumes, without its subfields; default 0. */
    cost?: number | ((args: _TArgs) => number)
    /** The scope that a caller needs for the field. Each root field has one. */
    scope?: string
  }
}

export interface GraphQLContext {
  services: Pick<ResourceServices, 'of'>
  /** The caller of a mutation. Queries and subscriptions have none, because several callers may share an execution. */
  caller: Caller | undefined
  /** Every wait for the database goes through this deadline. */
  deadline: Deadline
  /** The receiver of the events. Set only while a subscription begins. */
  subscriber?: { clientId: bigint; signal: AbortSignal; lastEventId: string | undefined }
}

export interface ConnectionPage<Edge = { cursor(): string }> {
  edges: Edge[]
  hasNextPage: boolean
  hasPreviousPage: boolean
}

export type Builder = ReturnType<typeof createBuilder>
export type Types = Builder extends PothosSchemaTypes.SchemaBuilder<infer T> ? T : never
export type Arguments = ArgBuilder<Types>
export type AddToSchema = (builder: Builder) => void

export function createBuilder() {
  return new SchemaBuilder<{
    Context: GraphQLContext
    DefaultFieldNullability: false
    Scalars: { ID: { Input: string; Output: string } }
    Objects: { PageInfo: ConnectionPage }
  }>({ defaultFieldNullability: false })
}
