import { z } from 'zod'
import { lazyFor } from '../lib/lazy.ts'

export const INT64_MIN = -(2n ** 63n)
export const INT64_MAX = 2n ** 63n - 1n

const INT64_ERROR = `must be an integer from ${INT64_MIN} to ${INT64_MAX}`

/** Names the most common mistake: an int64 as text. */
const int64Error = ({ input }: { input: unknown }) =>
  typeof input === 'string' ? 'must be a JSON integer, not a string' : INT64_ERROR

export const Int64 = z
  .union([z.int({ error: int64Error }), z.bigint()], { error: int64Error })
  .transform(BigInt)
  .refine((n) => n >= INT64_MIN && n <= INT64_MAX, INT64_ERROR)

/** Text that PostgreSQL can store unchanged and that is not only white space. @param max length in code points */
export function storableText(max: number) {
  return z
    .string({ error: 'must be a string' })
    .refine((value) => value.isWellFormed() && !value.includes('\0'), {
      error: 'must be Unicode text without U+0000 and without lone surrogates',
      abort: true,
    })
    .refine((value) => /\S/u.test(value) && [...value].length <= max, {
      error: `must have 1 to ${max} characters, not only white space`,
    })
    .meta({ minLength: 1, maxLength: max, pattern: '^[^\\u0000]*[^\\s\\u0000][^\\u0000]*$' })
}

/** Whether a schema is `Int64`, with or without `optional()` and rules: only a wrong type gives an issue `invalid_…`. */
export function isInt64(schema: z.core.$ZodType): boolean {
  const { error } = z.safeParse(schema, 0n)
  return !error?.issues.some(({ code }) => code.startsWith('invalid_'))
}

/**
 * The JSON type and format of a schema, with or without `optional()`: `z.iso.datetime()` has the format `date-time`. They
 * are computed once for each schema, because zod takes a millisecond and each statement of a resource needs them.
 */
export const jsonTypeOf = lazyFor((schema: z.ZodType) => {
  const json = z.toJSONSchema(schema, {
    io: 'input',
    unrepresentable: 'any',
    metadata: z.registry(), // an empty one: schemas with a name would become references
  })
  return { type: json.type, format: json.format, values: json.enum }
})

/** The sizes of a page (specification §8). */
export const PAGE_SIZE = { min: 1, max: 100, default: 20 }
const PAGE_SIZE_ERROR = `must be an integer from ${PAGE_SIZE.min} to ${PAGE_SIZE.max}`
export const PageSize = z.int(PAGE_SIZE_ERROR).min(PAGE_SIZE.min, PAGE_SIZE_ERROR).max(PAGE_SIZE.max, PAGE_SIZE_ERROR)

/** Parses the identifier in a path or a GraphQL ID. @returns undefined unless it is an int64 in canonical decimal digits */
export function parseInt64(text: string): bigint | undefined {
  if (!/^(0|-?[1-9]\d{0,18})$/.test(text)) return undefined
  const value = BigInt(text)
  return value >= INT64_MIN && value <= INT64_MAX ? value : undefined
}
