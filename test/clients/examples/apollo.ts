import { ApolloClient, ApolloLink, CombinedGraphQLErrors, HttpLink, InMemoryCache, ServerError } from '@apollo/client'
import { RetryLink } from '@apollo/client/link/retry'
import { relayStylePagination } from '@apollo/client/utilities'
import type { GraphQLFormattedError } from 'graphql'
import { map } from 'rxjs'
import * as gql from '../generated/codegen/graphql.ts'
import { type PetStoreError, retryDelayMs, toPetStoreError } from './errors.ts'

type Pets = gql.PetListQuery['pets']

/** HttpLink throws 401, 429 and 503 unread, since a proxy could have sent them. */
export function toError(error: unknown): PetStoreError {
  if (CombinedGraphQLErrors.is(error)) return toPetStoreError(error.errors)
  return toPetStoreError(ServerError.is(error) ? readErrors(error.bodyText) : [], error)
}

function readErrors(body: string) {
  try {
    const { errors } = JSON.parse(body) as { errors?: GraphQLFormattedError[] } // what the service sends
    return errors
  } catch {
    return [] // of a proxy
  }
}

function delayMs(attempt: number, operation: ApolloLink.Operation, error: unknown): number | undefined {
  if (operation.operationType === 'mutation' && !operation.variables['idempotencyKey']) return undefined
  const response: Response | undefined = operation.getContext()['response']
  return retryDelayMs(toError(error), attempt, response?.headers.get('Retry-After'))
}

const retry = new RetryLink({
  attempts: (...args) => delayMs(...args) !== undefined,
  delay: (...args) => delayMs(...args) ?? 0,
})

/** RetryLink sees thrown errors only, but the errors of a field arrive as a result. */
const throwRetryable = new ApolloLink((operation, forward) =>
  forward(operation).pipe(
    map((result) => {
      if (result.errors && retryDelayMs(toPetStoreError(result.errors), 1)) throw new CombinedGraphQLErrors(result)
      return result
    }),
  ),
)

export function createPetStore(uri: string, key: string) {
  const http = new HttpLink({ uri, headers: { Authorization: `Bearer ${key}` } })
  const client = new ApolloClient({
    link: ApolloLink.from([retry, throwRetryable, http]),
    cache: new InMemoryCache({ typePolicies: { Query: { fields: { pets: relayStylePagination(['status']) } } } }),
  })
  return {
    /** @param idempotencyKey one for each animal: keep it while the form is open */
    async addPet(input: gql.NewPet, idempotencyKey: string = crypto.randomUUID()) {
      const variables = { input, idempotencyKey }
      const { data, error } = await client.mutate({ mutation: gql.AddPetDocument, variables, errorPolicy: 'all' })
      return { pet: data?.createPet, error: error && toError(error) }
    },

    async findPet(id: string) {
      const variables = { id }
      const { data, error } = await client.query({ query: gql.PetByIdDocument, variables, errorPolicy: 'all' })
      return { pet: data?.pet, error: error && toError(error) }
    },

    /** The field policy appends each page to the list. In React: useQuery and its fetchMore. */
    watchPets(status: gql.PetStatus | undefined, show: (list: { pets?: Pets; error?: PetStoreError }) => void) {
      const list = client.watchQuery({ query: gql.PetListDocument, variables: { status } })
      let after: string | null | undefined
      const subscription = list.subscribe(({ data, dataState, error }) => {
        if (error) show({ error: toError(error) })
        if (dataState !== 'complete') return
        after = data.pets.pageInfo.endCursor
        show({ pets: data.pets })
      })
      return { loadMore: () => list.fetchMore({ variables: { after } }), stop: () => subscription.unsubscribe() }
    },
  }
}
