import { Client, type CombinedError, fetchExchange, type OperationResult, type OperationResultSource } from 'urql'
import { type PetStoreError, retryDelayMs, toPetStoreError } from './errors.ts'
import * as gql from './generated/graphql.ts'
import { createStreamFetch, type Source } from './live.ts'
import type { Session } from './session.ts'

export type Pet = gql.PetCardFragment
export type Page = gql.PetsQuery['pets']
export type Filter = Omit<gql.PetsQueryVariables, 'after'>
export type PetStore = ReturnType<typeof createPetStore>

export const STATUSES = ['available', 'pending', 'sold'] satisfies gql.PetStatus[]

const url = `${import.meta.env.VITE_PET_STORE ?? 'http://localhost:4000'}/graphql`

/** What the shop asks of the service. The list is live, so nothing is cached. */
export function createPetStore(session: Session, signOut: () => void) {
  const authorized =
    (send: typeof fetch): typeof fetch =>
    async (input, init) => {
      const headers = { ...init?.headers, Authorization: `Bearer ${await session.token()}` }
      return send(input, { ...init, headers })
    }
  const client = new Client({ url, exchanges: [fetchExchange], fetchSubscriptions: true, fetch: authorized(fetch) })
  const stream = { fetch: authorized(createStreamFetch()) }

  function toError({ graphQLErrors, networkError }: CombinedError): PetStoreError {
    const error = toPetStoreError(graphQLErrors, networkError)
    if (error.code === 'UNAUTHENTICATED') signOut()
    return error
  }

  /** Repeats a request a few times if that can help. */
  async function repeat<Data>(send: () => OperationResultSource<OperationResult<Data>>) {
    for (let attempt = 1; ; attempt++) {
      const { data, error: failure } = await send()
      const error = failure && toError(failure)
      const delayMs = error && retryDelayMs(error, attempt, failure.response?.headers.get('Retry-After'))
      if (!delayMs) return { data, error }
      await new Promise((resolve) => setTimeout(resolve, delayMs))
    }
  }

  return {
    async readPage(filter: Filter, after?: string | null) {
      const { data, error } = await repeat(() => client.query(gql.PetsDocument, { ...filter, after }))
      return { page: data?.pets, error }
    },

    async addPet(input: gql.NewPet, idempotencyKey: string) {
      const { data, error } = await repeat(() => client.mutation(gql.AddPetDocument, { input, idempotencyKey }))
      return { pet: data?.createPet, error }
    },

    subscribe(filter: Filter, ...[after, next, end]: Parameters<Source<Pet, Page>['subscribe']>) {
      const events = client.subscription(gql.PetCreatedDocument, { ...filter, after }, stream)
      return events.subscribe(({ data, error, hasNext }) => {
        // With an error, or at the end, the data is that of the event before.
        if (error) end(isExpiry(error) ? undefined : toError(error))
        else if (!hasNext) end()
        else if (data) next(data.petCreated)
      }).unsubscribe
    },
  }
}

/** The access token of an open stream expired: the next request carries the next one. */
function isExpiry({ graphQLErrors: [error], response }: CombinedError): boolean {
  return error?.extensions['code'] === 'UNAUTHENTICATED' && response?.ok
}
