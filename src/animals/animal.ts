import { z } from 'zod'

export const INT64_MIN = -(2n ** 63n)
export const INT64_MAX = 2n ** 63n - 1n

const int64Message = `must be an integer from ${INT64_MIN} to ${INT64_MAX}`

/** Names the most common mistake: an int64 as text. */
const int64Error = ({ input }: { input: unknown }) =>
  typeof input === 'string' ? 'must be a JSON integer, not a string' : int64Message

export const Int64 = z
  .union([z.int({ error: int64Error }), z.bigint()], { error: int64Error })
  .transform(BigInt)
  .refine((n) => n >= INT64_MIN && n <= INT64_MAX, int64Message)
const AnimalId = Int64.meta({ description: 'Identifier, assigned by the service.', examples: [42] })
const CategoryId = Int64.meta({ description: 'The category that the animal belongs to.', examples: [7] })

export const PetStatus = z
  .enum(['available', 'pending', 'sold'], { error: 'must be one of available, pending, sold' })
  .meta({ description: 'Availability. An animal that is created without a status has none.', examples: ['available'] })
export type PetStatus = z.infer<typeof PetStatus>

/** Length of a name, in code points. */
export const NAME_LENGTH = { min: 1, max: 255 }

const Name = z
  .string({ error: 'must be a string' })
  .refine((name) => name.isWellFormed() && !name.includes('\0'), {
    error: 'must be Unicode text without U+0000 and without lone surrogates',
    abort: true,
  })
  .refine((name) => /\S/u.test(name) && [...name].length <= NAME_LENGTH.max, {
    error: `must have ${NAME_LENGTH.min} to ${NAME_LENGTH.max} characters, not only white space`,
  })
  .meta({
    description: `The name, ${NAME_LENGTH.min} to ${NAME_LENGTH.max} Unicode characters, not only white space; returned exactly as it was sent.`,
    minLength: NAME_LENGTH.min,
    maxLength: NAME_LENGTH.max,
    pattern: '^[^\\u0000]*[^\\s\\u0000][^\\u0000]*$',
    examples: ['Rex'],
  })

const fields = { name: Name, categoryId: CategoryId, status: PetStatus.optional() }

/** Specification §2, NewPet: the creation payload. Unknown members are dropped. */
export const NewPet = z.object(fields, { error: 'The body must be a JSON object' })
export type NewPet = z.infer<typeof NewPet>

/** Specification §2, Animal (the Pet resource): NewPet and the identifier that the service assigns. */
export const Animal = z.object({ id: AnimalId, ...fields })

/** An animal as it is stored: an absent optional member is null. */
export type Animal = Stored<z.infer<typeof Animal>>
type Stored<T> = { [K in keyof T]-?: undefined extends T[K] ? Exclude<T[K], undefined> | null : T[K] }

/** The sizes of a page (specification §8). */
export const PAGE_SIZE = { min: 1, max: 100, default: 20 }
const pageSizeMessage = `must be an integer from ${PAGE_SIZE.min} to ${PAGE_SIZE.max}`
export const PageSize = z
  .int({ error: pageSizeMessage })
  .min(PAGE_SIZE.min, pageSizeMessage)
  .max(PAGE_SIZE.max, pageSizeMessage)

/** Parses the identifier in a path or a GraphQL ID. @returns undefined unless it is an int64 in canonical decimal digits */
export function parseInt64(text: string): bigint | undefined {
  if (!/^(0|-?[1-9]\d{0,18})$/.test(text)) return undefined
  const value = BigInt(text)
  return value >= INT64_MIN && value <= INT64_MAX ? value : undefined
}
