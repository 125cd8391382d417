import { createExecute } from './execute.ts'

interface Pet {
  id: string
  name: string
  categoryId: string
  status: string | null
}

const fields = 'id name categoryId status'

export function createPetStore(url: string, key: string) {
  const execute = createExecute(url, key)
  return {
    /** @param idempotencyKey one for each animal: keep it while the form is open */
    async addPet(input: Omit<Pet, 'id' | 'status'>, idempotencyKey: string = crypto.randomUUID()) {
      const query = `mutation ($input: NewPet!, $idempotencyKey: String!) {
        createPet(input: $input, idempotencyKey: $idempotencyKey) { ${fields} } }`
      const { data, error } = await execute<{ createPet: Pet }>({ query, variables: { input, idempotencyKey } })
      return { pet: data?.createPet, error }
    },

    async findPet(id: string) {
      const query = `query ($id: ID!) { pet(id: $id) { ${fields} } }`
      const { data, error } = await execute<{ pet: Pet | null }>({ query, variables: { id } })
      return { pet: data?.pet, error }
    },

    /** Reads the next page when the loop needs it. */
    async *pets(status?: string): AsyncGenerator<Pet> {
      const query = `query ($status: PetStatus, $after: String) { pets(status: $status, after: $after) {
        nodes { ${fields} } pageInfo { hasNextPage endCursor } } }`
      type Page = { pets: { nodes: Pet[]; pageInfo: { hasNextPage: boolean; endCursor: string } } }
      for (let after: string | undefined, more = true; more;) {
        const { data, error } = await execute<Page>({ query, variables: { status, after } })
        if (!data) throw Object.assign(new Error(), error)
        yield* data.pets.nodes
        ;({ hasNextPage: more, endCursor: after } = data.pets.pageInfo)
      }
    },
  }
}
