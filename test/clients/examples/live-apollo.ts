import { ApolloClient, HttpLink, InMemoryCache } from '@apollo/client'
import * as gql from '../generated/codegen/graphql.ts'
import { toError } from './apollo.ts'
import type { PetStoreError } from './errors.ts'
import { createStreamFetch, mergePet, watch } from './live.ts'

/** @returns stops it */
export function watchPets(
  uri: string,
  key: string,
  show: (pets: gql.PetCardFragment[]) => void,
  fail: (error: PetStoreError) => void,
  status?: gql.PetStatus,
) {
  const headers = { Authorization: `Bearer ${key}` }
  const link = new HttpLink({ uri, headers, fetch: createStreamFetch() })
  const client = new ApolloClient({ link, cache: new InMemoryCache() })
  const query = { query: gql.LiveListDocument, variables: { status } }

  // Every component that watches the query sees the list grow.
  const list = client.watchQuery({ ...query, fetchPolicy: 'cache-only' })
  const watching = list.subscribe(({ data, dataState }) => dataState === 'complete' && show(data.pets.nodes))
  const stop = watch<gql.PetCardFragment, gql.LiveListQuery['pets']>(
    {
      async read() {
        const { data, error } = await client.query({ ...query, fetchPolicy: 'network-only', errorPolicy: 'all' })
        return { page: data?.pets, error: error && toError(error) }
      },
      subscribe(after, next, end) {
        const events = client.subscribe({ query: gql.PetCreatedDocument, variables: { after, status } })
        const subscription = events.subscribe({
          next: ({ data, error }) => (data ? next(data.petCreated) : end(toError(error))),
          complete: () => end(),
        })
        return () => subscription.unsubscribe()
      },
    },
    {
      begin: () => {}, // the cache has the page
      add: (pet) =>
        client.cache.updateQuery(
          query,
          (data) => data && { pets: { ...data.pets, nodes: mergePet(data.pets.nodes, pet) } },
        ),
      fail,
    },
  )
  return () => {
    stop()
    watching.unsubscribe()
  }
}
