import { print } from 'graphql'
import { createClient, NetworkError } from 'graphql-sse'
import * as gql from '../generated/codegen/graphql.ts'
import { type PetStoreError, toPetStoreError } from './errors.ts'
import { createExecute } from './execute.ts'
import { createStreamFetch, mergePet, watch } from './live.ts'

/** An HTTP error has a GraphQL response as its body. */
export async function toError(failure: unknown) {
  const response = failure instanceof NetworkError ? (failure.response as Response | undefined) : undefined // of fetch
  const body = await response?.json().catch(() => undefined)
  return toPetStoreError(body?.errors, failure)
}

/** @returns stops it */
export function watchPets(
  url: string,
  key: string,
  show: (pets: gql.PetCardFragment[]) => void,
  fail: (error: PetStoreError) => void,
  status?: gql.PetStatus,
) {
  const execute = createExecute(url, key)
  // It would retry whatever the status is, also 401, and with the first cursor.
  const options = { retryAttempts: 0, fetchFn: createStreamFetch() }
  const client = createClient({ url, headers: { Authorization: `Bearer ${key}` }, ...options })
  let pets: gql.PetCardFragment[] = []

  return watch<gql.PetCardFragment, gql.LiveListQuery['pets']>(
    {
      async read() {
        const query = { query: print(gql.LiveListDocument), variables: { status } }
        const { data, error } = await execute<gql.LiveListQuery>(query)
        return { page: data?.pets, error }
      },
      subscribe: (after, next, end) =>
        client.subscribe<gql.PetCreatedSubscription>(
          { query: print(gql.PetCreatedDocument), variables: { after, status } },
          {
            next: ({ data, errors }) => (data ? next(data.petCreated) : end(toPetStoreError(errors))),
            error: async (failure) => end(await toError(failure)),
            complete: () => end(),
          },
        ),
    },
    {
      begin: ({ nodes }) => show((pets = nodes)),
      add: (pet) => show((pets = mergePet(pets, pet))),
      fail,
    },
  )
}
