import type { Animal, NewAnimal, Page, Store } from './store.ts'

/** The part of the service's schema that is measured. */
export const typeDefs = /* GraphQL */ `
  enum PetStatus {
    available
    pending
    sold
  }
  type Animal {
    id: ID!
    name: String!
    categoryId: ID!
    status: PetStatus
  }
  input NewPet {
    name: String!
    categoryId: ID!
    status: PetStatus
  }
  type PageInfo {
    hasNextPage: Boolean!
    endCursor: String
  }
  type AnimalConnection {
    nodes: [Animal!]!
    pageInfo: PageInfo!
  }
  type Query {
    pets(first: Int = 20, after: String): AnimalConnection!
    pet(id: ID!): Animal
  }
  type Mutation {
    createPet(input: NewPet!): Animal!
  }
`

/** Resolvers of the roots; the rest is read from what they give. */
export function resolversOn<Int>(store: Store<Int>) {
  return {
    Query: {
      pets: async (_: unknown, { first, after }: { first: number; after?: string }) =>
        toConnection(await store.list(first, after)),
      pet: (_: unknown, { id }: { id: string }): Promise<Animal<Int> | undefined> => store.get(id),
    },
    Mutation: {
      createPet: (_: unknown, { input }: { input: NewAnimal }): Promise<Animal<Int>> => store.create(input),
    },
  }
}

function toConnection<Int>({ animals, more }: Page<Int>) {
  return { nodes: animals, pageInfo: { hasNextPage: more, endCursor: animals.at(-1)?.id ?? null } }
}
