import { toCursor } from '../animals/cursor.ts'
import { type ErrorCode, statusOf } from '../errors.ts'
import { DeprecatedSince, Sunset } from './deprecation.ts'
import { json, type Json, ref } from './openapi-parts.ts'

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
    `@${DeprecatedSince.getTime() / 1000}`,
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
  Sunset: text('When the operation will be removed (RFC 8594).', Sunset.toUTCString()),
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

function refs(names: Header[]): Json {
  return Object.fromEntries(names.map((name) => [name, ref('headers', name)]))
}

/** What an error means to the client, and the headers that come with it. */
const ERROR_RESPONSES: Partial<Record<ErrorCode, { description: string; headers?: Header[] }>> = {
  INVALID_ARGUMENT: {
    description: 'A parameter or the body is malformed or out of range; the message names every field.',
  },
  UNAUTHENTICATED: { description: 'The API key is missing or not valid.', headers: ['WWW-Authenticate'] },
  PERMISSION_DENIED: { description: 'The key lacks the scope of the operation.', headers: ['WWW-Authenticate'] },
  NOT_FOUND: { description: 'No animal has this id.' },
  REQUEST_TIMEOUT: { description: 'The request took too long to arrive.' },
  ABORTED: {
    description: 'A request with the same Idempotency-Key is still in flight.',
    headers: ['Retry-After'],
  },
  GONE: { description: 'The operation was removed.' },
  PAYLOAD_TOO_LARGE: { description: 'The body is larger than 64 KiB.' },
  UNSUPPORTED_MEDIA_TYPE: {
    description: 'The body is not application/json in UTF-8, or is compressed.',
    headers: ['Accept-Post', 'Accept-Encoding'],
  },
  EXPECTATION_FAILED: { description: 'An expectation other than 100-continue.' },
  IDEMPOTENCY_KEY_REUSED: { description: 'The Idempotency-Key was used with another body.' },
  RESOURCE_EXHAUSTED: {
    description:
      'The rate limit of the key is exceeded (with the RateLimit headers), or too many authentications from one IP address have failed (without).',
    headers: ['Retry-After'],
  },
  HEADERS_TOO_LARGE: { description: 'The headers are larger than 16 KiB.' },
  INTERNAL: { description: 'Internal error.' },
  UNAVAILABLE: { description: 'The request was certainly not executed: safe to retry.', headers: ['Retry-After'] },
  DEADLINE_EXCEEDED: { description: 'The outcome is unknown: retry with the same Idempotency-Key.' },
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
    const { description = '', headers: more = [] } = ERROR_RESPONSES[code] ?? {}
    const fromServer = SENT_BY_HTTP_SERVER.has(code) && !(code === 'REQUEST_TIMEOUT' && readsBody)
    const limited = !fromServer && !SENT_BEFORE_RATE_LIMIT.has(code)
    const documented = {
      ...refs([...COMMON_HEADERS, ...more, ...(limited ? RATE_LIMIT_HEADERS : [])]),
      ...(!fromServer && (code === 'INVALID_ARGUMENT' ? optionalHeaders(own) : refs(own))),
    }
    const value = { code, message: description, status: statusOf[code] }
    const content = json('Error', { error: { summary: code, value } })
    return [statusOf[code], { description, headers: documented, content }] as const
  })
  return Object.fromEntries(responses)
}

/** For 400, which Node's HTTP server sends, too, to what is no valid HTTP. */
function optionalHeaders(names: Header[]): Json {
  return Object.fromEntries(names.map((name) => [name, { ...HEADER_COMPONENTS[name], required: false }]))
}
