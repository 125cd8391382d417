import { Client, type CombinedError, fetchExchange, type Operation } from '@urql/core'
import { cacheExchange } from '@urql/exchange-graphcache'
import { relayPagination } from '@urql/exchange-graphcache/extras'
import { retryExchange } from '@urql/exchange-retry'
import * as gql from '../generated/codegen/graphql.ts'
import { retryDelayMs, toPetStoreError } from './errors.ts'

const toError = (error: CombinedError) => toPetStoreError(error.graphQLErrors, error.networkError)

function mayRetry(error: CombinedError, { kind, variables }: Operation): boolean {
  if (kind === 'mutation' && !variables?.['idempotencyKey']) return false
  // retryExchange waits at least 1.5 times initialDelayMs, whatever Retry-After says.
  const retryAfter = Number(error.response?.headers.get('Retry-After') ?? 0)
  return retryAfter <= 1.5 && retryDelayMs(toError(error), 1) !== undefined
}

const retry = retryExchange({ initialDelayMs: 1000, maxDelayMs: 10_000, maxNumberAttempts: 4, retryIf: mayRetry })

export function createPetStore(url: string, key: string) {
  const cache = cacheExchange({
    resolvers: { Query: { pets: relayPagination() } },
    keys: { AnimalConnection: () => null, AnimalEdge: () => null, PageInfo: () => null }, // they have no id
  })
  const client = new Client({
    url,
    fetchOptions: { headers: { Authorization: `Bearer ${key}` } },
    exchanges: [cache, retry, fetchExchange],
  })
  return {
    /** @param idempotencyKey one for each animal: keep it while the form is open */
    async addPet(input: gql.NewPet, idempotencyKey: string = crypto.randomUUID()) {
      const { data, error } = await client.mutation(gql.AddPetDocument, { input, idempotencyKey })
      return { pet: data?.createPet, error: error && toError(error) }
    },

    async findPet(id: string) {
      const { data, error } = await client.query(gql.PetByIdDocument, { id })
      return { pet: data?.pet, error: error && toError(error) }
    },

    /**
     * The cache appends each page to the list. In React: useQuery, with `after` in a state.
     * @param after the endCursor of the list so far; undefined for the first page
     */
    async pets(status?: gql.PetStatus, after?: string | null) {
      // relayPagination finds a first page only if it has an argument.
      const { data, error } = await client.query(gql.PetListDocument, { first: 20, status, after })
      return { pets: data?.pets, error: error && toError(error) }
    },
  }
}
