import {
  createOperationDescriptor,
  type Environment,
  fetchQuery,
  getSingularSelector,
  type Variables,
} from 'relay-runtime'
import { waitUntil } from '../support/timeouts.ts'
import * as apollo from './examples/apollo.ts'
import type { PetStoreError } from './examples/errors.ts'
import * as plainFetch from './examples/fetch.ts'
import * as heyApi from './examples/hey-api.ts'
import * as openapiFetch from './examples/openapi-fetch.ts'
import { createEnvironment } from './examples/relay/environment.ts'
import * as relay from './examples/relay/Pets.ts'
import * as urql from './examples/urql.ts'
import pageQuery, { type PetsPageQuery } from './generated/relay/PetsPageQuery.graphql.ts'
import petsQuery, { type PetsQuery, type PetsQuery$data } from './generated/relay/PetsQuery.graphql.ts'
import fragment, { type Pets_list$data } from './generated/relay/Pets_list.graphql.ts'

type Status = 'available' | 'pending' | 'sold'
interface Pet {
  id: string
  name: string
  categoryId: string
  status?: string | null
}

/** What every example does, and all names of its list, read page by page. */
export interface PetStore {
  addPet(input: { name: string; categoryId: string }, idempotencyKey?: string): Promise<Result>
  findPet(id: string): Promise<Result>
  readNames(status?: Status): Promise<string[]>
}
interface Result {
  pet?: Pet | null
  error?: PetStoreError
}

export type CreatePetStore = (base: string, key: string) => PetStore

export const graphqlClients: Record<string, CreatePetStore> = {
  'Apollo Client'(base, key) {
    const store = apollo.createPetStore(`${base}/graphql`, key)
    return { ...store, readNames: (status) => readWithApollo(store, status) }
  },

  urql(base, key) {
    const store = urql.createPetStore(`${base}/graphql`, key)
    return {
      ...store,
      async readNames(status) {
        let { pets } = await store.pets(status)
        while (pets?.pageInfo.hasNextPage) ({ pets } = await store.pets(status, pets.pageInfo.endCursor))
        return pets?.edges.map(({ node }) => node.name) ?? []
      },
    }
  },

  Relay(base, key) {
    const environment = createEnvironment(`${base}/graphql`, key)
    return { ...relay.createPetStore(environment), readNames: (status) => readWithRelay(environment, status) }
  },

  'plain fetch'(base, key) {
    const store = plainFetch.createPetStore(`${base}/graphql`, key)
    return { ...store, readNames: (status) => namesOf(store.pets(status)) }
  },
}

export const restClients: Record<string, CreatePetStore> = {
  'openapi-fetch'(base, key) {
    const store = openapiFetch.createPetStore(`${base}/v1`, key)
    return { ...store, readNames: (status) => namesOf(store.pets(status)) }
  },

  'hey-api'(base, key) {
    const store = heyApi.createPetStore(`${base}/v1`, key)
    return { ...store, readNames: (status) => namesOf(store.pets(status)) }
  },
}

async function namesOf(pets: AsyncIterable<Pet>): Promise<string[]> {
  const names: string[] = []
  for await (const { name } of pets) names.push(name)
  return names
}

/** Loads the next page when the list is shown, as a user does. */
async function readWithApollo(store: ReturnType<typeof apollo.createPetStore>, status?: Status): Promise<string[]> {
  const shown: { edges: { node: Pet }[]; pageInfo: { hasNextPage: boolean } }[] = []
  const list = store.watchPets(status, ({ pets }) => void (pets && shown.push(pets)))
  await waitUntil(() => shown.length)
  while (shown.at(-1)?.pageInfo.hasNextPage) {
    const { length } = shown.at(-1)?.edges ?? []
    await list.loadMore()
    await waitUntil(() => (shown.at(-1)?.edges.length ?? 0) > length)
  }
  list.stop()
  return shown.at(-1)?.edges.map(({ node }) => node.name) ?? []
}

/** relay-compiler adds pageInfo to the connection without declaring it. */
type LoadedList = { pets: Pets_list$data['pets'] & { pageInfo: { hasNextPage: boolean; endCursor: string } } }

/** Does what useLazyLoadQuery, usePaginationFragment and loadNext do in React. */
async function readWithRelay(environment: Environment, status?: Status): Promise<string[]> {
  const variables: Variables = { status }
  const operation = createOperationDescriptor(petsQuery, variables)
  environment.retain(operation)
  await fetchQuery<PetsQuery>(environment, petsQuery, variables).toPromise()
  const connection = () => {
    const owner = environment.lookup(operation.fragment).data as unknown as PetsQuery$data // of this query
    const selector = getSingularSelector(fragment, owner)
    return selector && (environment.lookup(selector).data as unknown as LoadedList).pets // of this fragment
  }
  for (let page = connection(); page?.pageInfo.hasNextPage; page = connection()) {
    const next = { count: 20, cursor: page.pageInfo.endCursor, status }
    await fetchQuery<PetsPageQuery>(environment, pageQuery, next).toPromise()
  }
  return connection()?.edges.map(({ node }) => node.name) ?? []
}
