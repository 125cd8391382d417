import SchemaBuilder from '@pothos/core'
import type { Animal } from '../animals/animal.ts'
import type { Animals } from '../animals/service.ts'
import type { Caller } from '../context.ts'
import type { RequestTime } from '../http/request-time.ts'

/** What a resolver has at hand. */
export interface GraphQLContext {
  animals: Animals
  caller: Caller
  /** Through which the database is waited for. */
  time: RequestTime
}

/** A list of animals as the resolvers pass it on: nothing of it is read before something of it is selected. */
export interface AnimalConnection {
  /** Reads the page, once. */
  page(): Promise<ConnectionPage>
  /** Counts the whole list. */
  count(): Promise<number>
}

export interface ConnectionPage {
  edges: { node: Animal; cursor(): string }[]
  hasNextPage: boolean
  hasPreviousPage: boolean
}

export const builder = new SchemaBuilder<{
  Context: GraphQLContext
  DefaultFieldNullability: false
  Scalars: { ID: { Input: string; Output: string } }
}>({ defaultFieldNullability: false })
