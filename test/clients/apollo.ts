import { ApolloClient, CombinedGraphQLErrors, HttpLink, InMemoryCache } from '@apollo/client'
import { relayStylePagination } from '@apollo/client/utilities'
import { AddOnceDocument, AnimalDocument, WalkDocument } from './generated/codegen/graphql.ts'
import type { Client } from './typed.client.ts'

/** A client with Apollo Client, without React. */
export function apollo(uri: string, key: string): Client {
  const client = new ApolloClient({
    link: new HttpLink({ uri, headers: { Authorization: `Bearer ${key}` } }),
    cache: new InMemoryCache({
      typePolicies: { Query: { fields: { pets: relayStylePagination(['status']) } } },
    }),
  })

  return {
    async walk(first, status) {
      const query = { query: WalkDocument, variables: { first, status } }
      await client.query(query)
      const list = client.watchQuery(query)
      const subscription = list.subscribe(() => {})
      // The field policy appends each page to the previous ones.
      const connection = () => client.readQuery(query)?.pets
      let pages = 1
      for (; connection()?.pageInfo.hasNextPage; pages++) {
        await list.fetchMore({ variables: { after: connection()?.pageInfo.endCursor } })
      }
      subscription.unsubscribe()
      return { pages, names: connection()?.edges.map(({ node }) => node.name) ?? [] }
    },

    async add(input, idempotencyKey) {
      const { data } = await client.mutate({ mutation: AddOnceDocument, variables: { input, idempotencyKey } })
      return data?.createPet
    },

    async animal(id) {
      const { data, error } = await client.query({ query: AnimalDocument, variables: { id }, errorPolicy: 'all' })
      const errors = CombinedGraphQLErrors.is(error) ? error.errors : []
      return { data, codes: errors.map(({ extensions }) => extensions?.code) }
    },
  }
}
