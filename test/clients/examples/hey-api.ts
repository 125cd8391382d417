import { createClient } from '../generated/hey-api/client/index.ts'
import { createPet, getPet, listPets, type Animal, type NewPet, type PetStatus } from '../generated/hey-api/index.ts'
import { nextCursor, petStoreFetch } from './rest-fetch.ts'

/** @param baseUrl ends in /v1 */
export function createPetStore(baseUrl: string, key: string) {
  // Its type of fetch allows an address, too, but the client calls it with a Request only.
  const client = createClient({ baseUrl, auth: key, fetch: (request) => petStoreFetch(request as Request) })
  return {
    /** @param idempotencyKey one for each animal: keep it while the form is open */
    async addPet(body: NewPet, idempotencyKey: string = crypto.randomUUID()) {
      const headers = { 'Idempotency-Key': idempotencyKey }
      const { data, error } = await createPet({ client, headers, body })
      return { pet: data, error }
    },

    async findPet(petId: string) {
      const { data, error } = await getPet({ client, path: { petId } })
      return { pet: data, error }
    },

    /** Reads the next page when the loop needs it. */
    async *pets(status?: PetStatus): AsyncGenerator<Animal> {
      let cursor: string | undefined
      do {
        const { data, error, response } = await listPets({ client, query: { status, cursor } })
        if (!data) throw Object.assign(new Error(), error)
        yield* data
        cursor = nextCursor(response)
      } while (cursor)
    },
  }
}
