import createClient from 'openapi-fetch'
import type { components, paths } from '../generated/openapi.ts'
import { nextCursor, petStoreFetch } from './rest-fetch.ts'

type Schemas = components['schemas']

/** @param baseUrl ends in /v1 */
export function createPetStore(baseUrl: string, key: string) {
  const api = createClient<paths>({ baseUrl, headers: { Authorization: `Bearer ${key}` }, fetch: petStoreFetch })
  return {
    /** @param idempotencyKey one for each animal: keep it while the form is open */
    async addPet(body: Schemas['NewPet'], idempotencyKey: string = crypto.randomUUID()) {
      const params = { header: { 'Idempotency-Key': idempotencyKey } }
      const { data, error } = await api.POST('/pets', { params, body })
      return { pet: data, error }
    },

    async findPet(petId: string) {
      const { data, error } = await api.GET('/pets/{petId}', { params: { path: { petId } } })
      return { pet: data, error }
    },

    /** Reads the next page when the loop needs it. */
    async *pets(status?: Schemas['PetStatus']): AsyncGenerator<Schemas['Animal']> {
      let cursor: string | undefined
      do {
        const { data, error, response } = await api.GET('/pets', { params: { query: { status, cursor } } })
        if (!data) throw Object.assign(new Error(), error)
        yield* data
        cursor = nextCursor(response)
      } while (cursor)
    },
  }
}
