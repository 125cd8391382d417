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

/** @returns messages for a form, by the name of the field; `form` concerns the whole form */
export function toFormMessages({ code, message, fields }: PetStoreError): Record<string, string> {
  switch (code) {
    case 'INVALID_ARGUMENT': // REST names every field in one message
      return fields
        ? Object.fromEntries(fields.map(({ path, message }) => [path.at(-1) ?? 'form', message]))
        : { form: message }
    case 'NOT_FOUND':
      return { form: 'There is no such animal.' }
    case 'UNAVAILABLE':
      return { form: 'Nothing was saved. Please try again.' }
    case 'DEADLINE_EXCEEDED':
    case 'NO_RESPONSE': // saving again with the same idempotency key adds no second animal
      return { form: 'Perhaps it was saved. Please save again.' }
    case 'RESOURCE_EXHAUSTED':
      return { form: 'Too many requests. Please wait a minute.' }
    default:
      return { form: `Something went wrong: ${message}` }
  }
}
