import { fetchQuery, graphql, requestSubscription } from 'relay-runtime'
import type { LivePetsCreatedSubscription } from '../../generated/relay/LivePetsCreatedSubscription.graphql.ts'
import type { LivePetsListQuery, PetStatus } from '../../generated/relay/LivePetsListQuery.graphql.ts'
import type { PetStoreError } from '../errors.ts'
import { mergePet, watch } from '../live.ts'
import { createEnvironment } from './environment.ts'

const list = graphql`
  query LivePetsListQuery($status: PetStatus) {
    pets(status: $status) {
      nodes {
        id
        name
      }
      liveCursor
    }
  }
`

const created = graphql`
  subscription LivePetsCreatedSubscription($after: String!, $status: PetStatus) {
    petCreated(after: $after, status: $status) {
      cursor
      node {
        id
        name
      }
    }
  }
`

type Page = LivePetsListQuery['response']['pets']
type Pet = Page['nodes'][number]

/** @returns stops it */
export function watchPets(
  url: string,
  key: string,
  show: (pets: Pet[]) => void,
  fail: (error: PetStoreError) => void,
  status?: PetStatus,
) {
  const environment = createEnvironment(url, key)
  let pets: Pet[] = []

  return watch<Pet, Page>(
    {
      read: () =>
        fetchQuery<LivePetsListQuery>(environment, list, { status }, { networkCacheConfig: { force: true } })
          .toPromise()
          .then(
            (data) => ({ page: data?.pets }),
            (error: PetStoreError) => ({ error }), // thrown by the environment
          ),
      subscribe: (after, next, end) =>
        requestSubscription<LivePetsCreatedSubscription>(environment, {
          subscription: created,
          variables: { after, status },
          onNext: (data) => data && next(data.petCreated),
          onError: (error) => end(error as Error & PetStoreError), // thrown by the environment
          onCompleted: () => end(),
        }).dispose,
    },
    {
      begin: ({ nodes }) => show((pets = [...nodes])),
      add: (pet) => show((pets = mergePet(pets, pet))),
      fail,
    },
  )
}
