import { Client, type CombinedError, fetchExchange } from '@urql/core'
import * as gql from '../generated/codegen/graphql.ts'
import { toPetStoreError } from './errors.ts'
import { createStreamFetch, follow, mergeEdge, type View } from './live.ts'

const toError = (error: CombinedError) => toPetStoreError(error.graphQLErrors, error.networkError)

/** @returns stops it */
export async function watchPets(url: string, key: string, { show, fail }: View, status?: gql.PetStatus) {
  const client = new Client({
    url,
    exchanges: [fetchExchange],
    fetch: createStreamFetch(),
    fetchSubscriptions: true,
    fetchOptions: { headers: { Authorization: `Bearer ${key}` } },
  })
  const { data, error } = await client.query(gql.LiveListDocument, { status })
  if (!data) throw error
  let { edges } = data.pets
  show(edges)

  return follow(
    data.pets.liveCursor,
    (after, next, end) =>
      client.subscription(gql.PetCreatedDocument, { after, status }).subscribe(({ data, error, hasNext }) => {
        // With an error, or at the end, the data is that of the event before.
        if (error) end(toError(error))
        else if (!hasNext) end()
        else if (data) next(data.petCreated)
      }).unsubscribe,
    (edge) => show((edges = mergeEdge(edges, edge))),
    fail,
  )
}
