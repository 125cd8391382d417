import SchemaBuilder from '@pothos/core'
import type { Animal } from '../animals/animal.ts'
import type { Animals } from '../animals/service.ts'
import type { Caller } from '../context.ts'

/** What a resolver has at hand. */
export interface GraphQLContext {
  animals: Animals
  caller: Caller
}

/** A page of animals as the resolvers pass it on; `count` asks the database only when `totalCount` is selected. */
export interface AnimalConnection {
  edges: { cursor: string; node: Animal }[]
  hasNextPage: boolean
  hasPreviousPage: boolean
  count(): Promise<number>
}

export const builder = new SchemaBuilder<{
  Context: GraphQLContext
  DefaultFieldNullability: false
  Scalars: { ID: { Input: string; Output: string } }
}>({ defaultFieldNullability: false })
