import { ApolloClient, CombinedGraphQLErrors, HttpLink, InMemoryCache } from '@apollo/client'
import * as gql from '../generated/codegen/graphql.ts'
import { toPetStoreError } from './errors.ts'
import { createStreamFetch, follow, mergeEdge, type View } from './live.ts'

const toError = (error: unknown) => toPetStoreError(CombinedGraphQLErrors.is(error) ? error.errors : [], error)

/** @returns stops it */
export async function watchPets(uri: string, key: string, { show, fail }: View, status?: gql.PetStatus) {
  const headers = { Authorization: `Bearer ${key}` }
  const link = new HttpLink({ uri, headers, fetch: createStreamFetch() })
  const client = new ApolloClient({ link, cache: new InMemoryCache() })
  const query = { query: gql.LiveListDocument, variables: { status } }
  const { data } = await client.query(query)
  if (!data) throw new Error('The page has no data.')

  // Every component that watches the query sees the list grow.
  const list = client.watchQuery(query)
  const watching = list.subscribe(({ data, dataState }) => dataState === 'complete' && show(data.pets.edges))
  const stop = follow(
    data.pets.liveCursor,
    (after, next, end) => {
      const events = client.subscribe({ query: gql.PetCreatedDocument, variables: { after, status } })
      const subscription = events.subscribe({
        next: ({ data, error }) => (data ? next(data.petCreated) : end(toError(error))),
        complete: () => end(),
      })
      return () => subscription.unsubscribe()
    },
    (edge) =>
      list.updateQuery((_data, { previousData, complete }) =>
        complete ? { pets: { ...previousData.pets, edges: mergeEdge(previousData.pets.edges, edge) } } : undefined,
      ),
    fail,
  )
  return () => {
    stop()
    watching.unsubscribe()
  }
}
