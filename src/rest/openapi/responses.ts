import { toCursor } from '../../animals/cursor.ts'
import { type ErrorCode, ERRORS, type ErrorDefinition } from '../../errors.ts'
import { DEPRECATED_AT, SUNSET_AT } from '../deprecation.ts'
import { json, type Json, ref } from './components.ts'

/** Of a list with the example of PetStatus as its filter, so that all examples of listPets work together. */
export const CURSOR_EXAMPLE = toCursor(42n, 'available')

const text = (description: string, example: string, pattern = '^.+$') => ({
  description,
  required: true,
  schema: { type: 'string', pattern, maxLength: 2048 },
  example,
})
const optional = (header: ReturnType<typeof text>) => ({ ...header, required: false })

/** Every header that a response may have. Required: it comes with every response that documents it. */
export const HEADER_COMPONENTS = {
  'Accept-Encoding': optional(
    text('The codings of the body that POST takes, where another was sent (RFC 9110).', 'identity'),
  ),
  'Accept-Post': text('The media types that POST takes.', 'application/json'),
  'Cache-Control': text(
    'Reads may be cached but must be revalidated; other responses must not be stored.',
    'private, no-cache',
  ),
  Deprecation: text(
    'Since when the operation is deprecated (RFC 9745).',
    `@${DEPRECATED_AT.getTime() / 1000}`,
    '^@\\d+$',
  ),
  ETag: text('Changes when the body does; for `If-None-Match`.', '"PZ2xM0kWq8Yt1nQd7vRb4c"', '^"[A-Za-z0-9_-]+"$'),
  'Idempotent-Replayed': optional(
    text('An earlier request with the same Idempotency-Key added the animal.', 'true', '^true$'),
  ),
  Link: text(
    'Related addresses (RFC 8288), relative to the URL of the request: `next`, `first`, `successor-version`.',
    `</v1/pets?limit=20&status=available&cursor=${CURSOR_EXAMPLE}>; rel="next"`,
  ),
  Location: text(
    'The address of the new animal, as a reference relative to the URL of the request (RFC 9110 §10.2.2).',
    '/v1/pets/42',
    '^(/v1/)?pets/\\d+$',
  ),
  RateLimit: optional(
    text(
      'What is left of the quota of the key, where one is set (draft-ietf-httpapi-ratelimit-headers): points, and seconds until it is replenished.',
      '"key";r=59999;t=60',
    ),
  ),
  'RateLimit-Policy': optional(
    text('The quota, where one is set: points, and seconds of its window.', '"key";q=60000;w=60'),
  ),
  'Retry-After': {
    description: 'Seconds to wait before the next try.',
    required: true,
    schema: { type: 'integer', format: 'int32', minimum: 0, maximum: 86_400 },
    example: 1,
  },
  Sunset: text('When the operation will be removed (RFC 8594).', SUNSET_AT.toUTCString()),
  'WWW-Authenticate': text(
    'How to authenticate (RFC 6750).',
    'Bearer realm="petstore", error="invalid_token"',
    '^Bearer realm="petstore"',
  ),
  'X-Content-Type-Options': text('Browsers must not guess the type.', 'nosniff', '^nosniff$'),
  'X-Request-Id': text(
    "Names the request in the service's log: quote it when you ask for help.",
    '6f9619ff-8b86-4d01-b42d-00cf4fc964ff',
    '^[\\w.:-]+$',
  ),
}
type Header = keyof typeof HEADER_COMPONENTS

const COMMON_HEADERS: Header[] = ['X-Request-Id', 'Cache-Control', 'X-Content-Type-Options']
const RATE_LIMIT_HEADERS: Header[] = ['RateLimit', 'RateLimit-Policy']
export const DEPRECATION_HEADERS: Header[] = ['Deprecation', 'Sunset', 'Link']

/** The headers of a response of the application once the rate limiter has been asked: those named, and the common ones. */
export function headers(...names: Header[]): Json {
  return refs([...COMMON_HEADERS, ...RATE_LIMIT_HEADERS, ...names])
}

function refs(names: readonly string[]): Json {
  return Object.fromEntries(names.map((name) => [name, ref('headers', name)]))
}

/** Errors that any operation may have: from authentication, from Node's HTTP server, from trouble on our side. */
const COMMON_ERRORS = [
  ...(['UNAUTHENTICATED', 'PERMISSION_DENIED', 'REQUEST_TIMEOUT', 'EXPECTATION_FAILED', 'RESOURCE_EXHAUSTED'] as const),
  ...(['HEADERS_TOO_LARGE', 'INTERNAL', 'UNAVAILABLE'] as const),
]
/** Sent by Node's HTTP server: the application does not see the request, and adds no header. */
const SENT_BY_HTTP_SERVER = new Set<ErrorCode>(['REQUEST_TIMEOUT', 'HEADERS_TOO_LARGE'])
/** Sent by the application before the rate limiter is asked. */
const SENT_BEFORE_RATE_LIMIT = new Set<ErrorCode>(['EXPECTATION_FAILED', 'UNAUTHENTICATED'])

interface OperationErrors {
  codes: ErrorCode[]
  /** Headers of all responses that the application sends. */
  headers?: Header[]
  /** Whether the application reads a body, and so sends 408 itself when that is late. */
  readsBody?: boolean
}

/** The error responses of an operation: its own, and those that any operation may have. */
export function errors({ codes, headers: own = [], readsBody = false }: OperationErrors): Json {
  const responses = [...codes, ...COMMON_ERRORS].map((code) => {
    const { status, description, headers: more = [] }: ErrorDefinition = ERRORS[code]
    const fromServer = SENT_BY_HTTP_SERVER.has(code) && !(code === 'REQUEST_TIMEOUT' && readsBody)
    const limited = !fromServer && !SENT_BEFORE_RATE_LIMIT.has(code)
    const documented = {
      ...refs([...COMMON_HEADERS, ...more, ...(limited ? RATE_LIMIT_HEADERS : [])]),
      ...(!fromServer && (code === 'INVALID_ARGUMENT' ? optionalHeaders(own) : refs(own))),
    }
    const value = { code, message: description, status }
    const content = json('Error', { error: { summary: code, value } })
    return [status, { description, headers: documented, content }] as const
  })
  return Object.fromEntries(responses)
}

/** For 400, which Node's HTTP server sends, too, to what is no valid HTTP. */
function optionalHeaders(names: Header[]): Json {
  return Object.fromEntries(names.map((name) => [name, { ...HEADER_COMPONENTS[name], required: false }]))
}
