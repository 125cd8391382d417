import { z } from 'zod'

/** Least and greatest int64. */
export const INT64_MIN = -(2n ** 63n)
export const INT64_MAX = 2n ** 63n - 1n

const int64Message = 'must be an integer from -9223372036854775808 to 9223372036854775807'

/** An int64 of the contract: a safe number or a bigint comes in, a bigint goes on, exact to the digit. */
export const Int64 = z
  .union([z.int({ error: int64Message }), z.bigint()], { error: int64Message })
  .transform(BigInt)
  .refine((n) => n >= INT64_MIN && n <= INT64_MAX, int64Message)
const AnimalId = Int64.meta({ description: 'Identifier, assigned by the service.', examples: [42] })
const CategoryId = Int64.meta({ description: 'The category that the animal belongs to.', examples: [7] })

/** Specification §2, PetStatus. */
export const PetStatus = z
  .enum(['available', 'pending', 'sold'], { error: 'must be one of available, pending, sold' })
  .meta({ description: 'Availability. An animal added without one has none.', examples: ['available'] })
export type PetStatus = z.infer<typeof PetStatus>

const nameLength = { min: 1, max: 255 }

/** An animal's name: 1 to 255 code points, kept byte for byte. */
export const Name = z
  .string({ error: 'must be a string' })
  .refine((name) => name.isWellFormed() && !name.includes('\0'), {
    error: 'must be Unicode text without U+0000 and without lone surrogates',
    abort: true,
  })
  .refine((name) => /\S/u.test(name) && [...name].length <= nameLength.max, {
    error: `must have ${nameLength.min} to ${nameLength.max} characters, not only white space`,
  })
  .meta({
    description: 'The name, 1 to 255 Unicode characters and not only white space; given back exactly as it was sent.',
    minLength: nameLength.min,
    maxLength: nameLength.max,
    pattern: '^[^\\u0000]*[^\\s\\u0000][^\\u0000]*$',
    examples: ['Rex'],
  })

const fields = { name: Name, categoryId: CategoryId, status: PetStatus.optional() }

/** Specification §2, NewPet: the creation payload. Unknown members are dropped. */
export const NewPet = z.object(fields, { error: 'The body must be a JSON object' })
export type NewPet = z.infer<typeof NewPet>

/** Specification §2, Animal (the Pet resource): NewPet with the identifier that the service assigned. */
export const Animal = z.object({ id: AnimalId, ...fields })

/** An animal as it is stored: a member that it does not have is null. */
export type Animal = Stored<z.infer<typeof Animal>>
type Stored<T> = { [K in keyof T]-?: undefined extends T[K] ? Exclude<T[K], undefined> | null : T[K] }

/** Specification §8: page size 1 to 100, 20 when nothing is said. */
export const PageSize = z
  .int({ error: 'must be an integer from 1 to 100' })
  .min(1, 'must be an integer from 1 to 100')
  .max(100, 'must be an integer from 1 to 100')
export const DEFAULT_PAGE_SIZE = 20

/** The identifier in a path or an ID: canonical decimal digits of an int64, or undefined. */
export function parseInt64(text: string): bigint | undefined {
  if (!/^(0|-?[1-9]\d{0,18})$/.test(text)) return undefined
  const value = BigInt(text)
  return value >= INT64_MIN && value <= INT64_MAX ? value : undefined
}
