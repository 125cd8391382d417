import { Client, type CombinedError, fetchExchange } from '@urql/core'
import * as gql from '../generated/codegen/graphql.ts'
import { type PetStoreError, toPetStoreError } from './errors.ts'
import { createStreamFetch, mergePet, watch } from './live.ts'

const toError = (error: CombinedError) => toPetStoreError(error.graphQLErrors, error.networkError)

/** @returns stops it */
export function watchPets(
  url: string,
  key: string,
  show: (pets: gql.PetCardFragment[]) => void,
  fail: (error: PetStoreError) => void,
  status?: gql.PetStatus,
) {
  const client = new Client({
    url,
    exchanges: [fetchExchange],
    fetch: createStreamFetch(),
    fetchSubscriptions: true,
    fetchOptions: { headers: { Authorization: `Bearer ${key}` } },
  })
  let pets: gql.PetCardFragment[] = []

  return watch<gql.PetCardFragment, gql.LiveListQuery['pets']>(
    {
      async read() {
        const { data, error } = await client.query(gql.LiveListDocument, { status })
        return { page: data?.pets, error: error && toError(error) }
      },
      subscribe: (after, next, end) =>
        client.subscription(gql.PetCreatedDocument, { after, status }).subscribe(({ data, error, hasNext }) => {
          // With an error, or at the end, the data is that of the event before.
          if (error) end(toError(error))
          else if (!hasNext) end()
          else if (data) next(data.petCreated)
        }).unsubscribe,
    },
    {
      begin: ({ nodes }) => show((pets = nodes)),
      add: (pet) => show((pets = mergePet(pets, pet))),
      fail,
    },
  )
}
