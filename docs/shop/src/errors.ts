/** The body of a REST error, or the message and extensions of a GraphQL error. */
export interface PetStoreError {
  code: string
  message: string
  /** GraphQL, INVALID_ARGUMENT: every wrong field. */
  fields?: { path: (string | number)[]; message: string }[]
}

/** The first GraphQL error of a response. Without a response the outcome is unknown. */
export function toPetStoreError(
  [error]: readonly { message: string; extensions?: object }[] = [],
  failure?: unknown,
): PetStoreError {
  if (!error) return { code: 'NO_RESPONSE', message: String(failure) }
  return { code: 'INTERNAL', message: error.message, ...error.extensions }
}

const RETRYABLE = new Set(['UNAVAILABLE', 'DEADLINE_EXCEEDED', 'ABORTED', 'RESOURCE_EXHAUSTED', 'NO_RESPONSE'])
const MAX_ATTEMPTS = 4
const MAX_WAIT_MS = 10_000 // people do not wait longer

/** @returns how long to wait before the next attempt; undefined: show the error instead */
export function retryDelayMs(error: PetStoreError, attempt: number, retryAfter?: string | null): number | undefined {
  const requiredMs = Number(retryAfter ?? 0) * 1000
  if (!RETRYABLE.has(error.code) || attempt >= MAX_ATTEMPTS || requiredMs > MAX_WAIT_MS) return undefined
  // Random, so that clients that failed together do not return together.
  return Math.max(requiredMs, 500 * 2 ** attempt) + Math.random() * 500
}

const MAYBE_SAVED = 'Perhaps it was saved. Please save again.' // the same idempotency key adds no second animal
const SENTENCES: Record<string, string> = {
  NOT_FOUND: 'There is no such animal.',
  PERMISSION_DENIED: 'You are not allowed to do that.',
  UNAVAILABLE: 'Nothing was saved. Please try again.',
  DEADLINE_EXCEEDED: MAYBE_SAVED,
  NO_RESPONSE: MAYBE_SAVED,
  RESOURCE_EXHAUSTED: 'Too many requests. Please wait a minute.',
}

/** The fields of the form, and what a person can do about each. */
const FIELDS: Record<string, string> = {
  name: 'Please enter a name of 1 to 255 characters.',
  categoryId: 'Please enter the number of a category, such as 7.',
  status: 'Please choose one of the list.',
}

/** @returns messages for a form, by the name of the field; `form` concerns the whole form */
export function toFormMessages({ code, message, fields = [] }: PetStoreError): Record<string, string> {
  const wrong = fields.map(({ path }) => String(path.at(-1))).filter((field) => field in FIELDS)
  if (wrong.length) return Object.fromEntries(wrong.map((field) => [field, FIELDS[field] ?? message]))
  return { form: SENTENCES[code] ?? `Something went wrong: ${message}` }
}
