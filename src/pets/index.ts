import { addPets } from './graphql.ts'
import { animals } from './animal.ts'
import { petsApi } from './rest.ts'

/** The animals of the store, in both APIs. */
export const pets = { resource: animals, rest: petsApi, addToSchema: addPets }
