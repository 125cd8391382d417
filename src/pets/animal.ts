import { z } from 'zod'
import { Int64, storableText } from '../store/types.ts'
import { createCursors } from '../store/cursor.ts'
import type { Item, Resource } from '../store/resource.ts'

export const PetStatus = z
  .enum(['available', 'pending', 'sold'], { error: 'must be one of available, pending, sold' })
  .meta({
    id: 'PetStatus',
    description: 'Availability. An animal that is created without a status has none.',
    examples: ['available'],
  })
export type PetStatus = z.infer<typeof PetStatus>

/** Maximum length of a name, in code points. */
export const NAME_MAX_LENGTH = 255

const fields = {
  name: storableText(NAME_MAX_LENGTH).meta({
    description: `The name, 1 to ${NAME_MAX_LENGTH} Unicode characters, not only white space; returned exactly as it was sent.`,
    examples: ['Rex'],
  }),
  categoryId: Int64.meta({ description: 'The category that the animal belongs to.', examples: [7] }),
  status: PetStatus.optional(),
}

/** Specification §2, NewPet: the creation payload. Unknown members are dropped. */
export const NewPet = z
  .object(fields, { error: 'The body must be a JSON object' })
  .meta({ id: 'NewPet', description: 'An animal to add. Unknown members are ignored.' })
export type NewPet = z.infer<typeof NewPet>

/** Specification §2, Animal (the Pet resource): NewPet and the identifier that the service assigns. */
export const Animal = z
  .object({ id: Int64.meta({ description: 'Identifier, assigned by the service.', examples: [42] }), ...fields })
  .meta({ id: 'Animal', description: 'An animal offered in the store.' })

export const animals = {
  name: 'animals',
  noun: 'animal',
  table: 'animal',
  item: Animal,
  input: NewPet,
  scopes: { read: 'pets:read', write: 'pets:write' },
  filters: { status: '"public"."pet_status"', categoryId: 'bigint' },
  version1: true,
} satisfies Resource

export type Animal = Item<typeof animals>

export const { filterKey, toCursor } = createCursors(animals)
