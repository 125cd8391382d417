import { commitMutation, type Environment, fetchQuery, graphql } from 'relay-runtime'
import type { NewPet, PetsAddMutation } from '../../generated/relay/PetsAddMutation.graphql.ts'
import type { PetsByIdQuery } from '../../generated/relay/PetsByIdQuery.graphql.ts'
import type { PetStoreError } from '../errors.ts'

/** For useLazyLoadQuery, whose result is the second argument of usePaginationFragment(pets, …). */
export const query = graphql`
  query PetsQuery($status: PetStatus) {
    ...Pets_list @arguments(status: $status)
  }
`

/** For usePaginationFragment: its loadNext(20) appends a page to the connection. */
export const pets = graphql`
  fragment Pets_list on Query
  @refetchable(queryName: "PetsPageQuery")
  @argumentDefinitions(
    count: { type: "Int", defaultValue: 20 }
    cursor: { type: "String" }
    status: { type: "PetStatus" }
  ) {
    pets(first: $count, after: $cursor, status: $status) @connection(key: "Pets_pets") {
      edges {
        node {
          id
          name
        }
      }
    }
  }
`

const byId = graphql`
  query PetsByIdQuery($id: ID!) {
    pet(id: $id) {
      id
      name
      categoryId
      status
    }
  }
`

const addMutation = graphql`
  mutation PetsAddMutation($input: NewPet!, $idempotencyKey: String!) {
    createPet(input: $input, idempotencyKey: $idempotencyKey) {
      id
      name
      categoryId
      status
    }
  }
`

export function createPetStore(environment: Environment) {
  return {
    /** @param idempotencyKey one for each animal: keep it while the form is open. In React: useMutation */
    addPet(input: NewPet, idempotencyKey: string = crypto.randomUUID()) {
      return new Promise<{ pet?: PetsAddMutation['response']['createPet']; error?: PetStoreError }>((resolve) => {
        commitMutation<PetsAddMutation>(environment, {
          mutation: addMutation,
          variables: { input, idempotencyKey },
          onCompleted: ({ createPet }) => resolve({ pet: createPet }),
          onError: (error) => resolve({ error: error as Error & PetStoreError }), // thrown by the network above
        })
      })
    },

    async findPet(id: string) {
      const found = fetchQuery<PetsByIdQuery>(environment, byId, { id }).toPromise()
      return found.then(
        (data) => ({ pet: data?.pet, error: undefined }),
        (error: PetStoreError) => ({ pet: undefined, error }), // thrown by the network above
      )
    },
  }
}
