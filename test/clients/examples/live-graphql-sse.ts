import { print } from 'graphql'
import { createClient, NetworkError } from 'graphql-sse'
import * as gql from '../generated/codegen/graphql.ts'
import { toPetStoreError } from './errors.ts'
import { createExecute } from './execute.ts'
import { createStreamFetch, follow, mergeEdge, type View } from './live.ts'

/** An HTTP error has a GraphQL response as its body. */
async function toError(failure: unknown) {
  const response = failure instanceof NetworkError ? (failure.response as Response | undefined) : undefined // of fetch
  const body = await response?.json().catch(() => undefined)
  return toPetStoreError(body?.errors, failure)
}

/** @returns stops it */
export async function watchPets(url: string, key: string, { show, fail }: View, status?: gql.PetStatus) {
  const query = { query: print(gql.LiveListDocument), variables: { status } }
  const { data, error } = await createExecute(url, key)<gql.LiveListQuery>(query)
  if (!data) throw Object.assign(new Error(), error)
  let { edges } = data.pets
  show(edges)

  // It would retry whatever the status is, also 401, and with the first cursor.
  const options = { retryAttempts: 0, fetchFn: createStreamFetch() }
  const client = createClient({ url, headers: { Authorization: `Bearer ${key}` }, ...options })
  return follow(
    data.pets.liveCursor,
    (after, next, end) =>
      client.subscribe<gql.PetCreatedSubscription>(
        { query: print(gql.PetCreatedDocument), variables: { after, status } },
        {
          next: ({ data, errors }) => (data ? next(data.petCreated) : end(toPetStoreError(errors))),
          error: async (failure) => end(await toError(failure)),
          complete: () => end(),
        },
      ),
    (edge) => show((edges = mergeEdge(edges, edge))),
    fail,
  )
}
