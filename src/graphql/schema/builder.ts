import SchemaBuilder from '@pothos/core'
import type { Animal } from '../../animals/animal.ts'
import type { Animals } from '../../animals/service.ts'
import type { Caller } from '../../auth/api-keys.ts'
import type { Deadline } from '../../http/deadline.ts'

/** What resolvers use. */
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
