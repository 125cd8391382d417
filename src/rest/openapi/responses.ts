import { type ErrorCode, ERRORS, type ErrorDefinition } from '../../errors.ts'
import { DEPRECATION, SUNSET } from '../deprecation.ts'
import type { Operation } from '../operation.ts'
import { CURSOR_EXAMPLE, ETAG_EXAMPLE, json, type Json, ref } from './components.ts'

const text = (description: string, example: string, pattern = '^.+$') => ({
  description,
  required: true,
  schema: { type: 'string', pattern, maxLength: 2048 },
  example,
})
const optional = (...header: Parameters<typeof text>) => ({ ...text(...header), required: false })

/** Every header that a response may have. Required: every response that documents it has it. */
export const HEADER_COMPONENTS = {
  'Accept-Encoding': optional(
    'The content codings that POST accepts, if the request had another one (RFC 9110 §12.5.3).',
    'identity',
  ),
  'Accept-Post': text('The media types that POST accepts.', 'application/json'),
  'Cache-Control': text(
    'Reads may be cached but must be revalidated; other responses must not be stored.',
    'private, no-cache',
  ),
  Deprecation: text('Since when the operation is deprecated (RFC 9745).', DEPRECATION, '^@\\d+$'),
  ETag: text('Changes when the body does; for `If-None-Match`.', ETAG_EXAMPLE, '^"[A-Za-z0-9_-]+"$'),
  'Idempotent-Replayed': optional(
    'An earlier request with the same Idempotency-Key added the animal.',
    'true',
    '^true$',
  ),
  Link: text(
    'Related URLs (RFC 8288), relative to the URL of the request: `next`, `first`, `successor-version`.',
    `</v1/pets?limit=20&status=available&cursor=${CURSOR_EXAMPLE}>; rel="next"`,
  ),
  Location: text(
    'The URL of the new animal, relative to the URL of the request (RFC 9110 §10.2.2).',
    '/v1/pets/42',
    '^(/v1/)?pets/\\d+$',
  ),
  RateLimit: optional(
    'The remaining quota of the key, if one is set (draft-ietf-httpapi-ratelimit-headers): points, and seconds until the quota is reset.',
    '"key";r=59999;t=60',
  ),
  'RateLimit-Policy': optional('The quota, if one is set: points, and the window in seconds.', '"key";q=60000;w=60'),
  'Retry-After': {
    description: 'Seconds to wait before the retry.',
    required: true,
    schema: { type: 'integer', format: 'int32', minimum: 0, maximum: 86_400 },
    example: 1,
  },
  Sunset: text('When the operation will be removed (RFC 8594).', SUNSET),
  'WWW-Authenticate': text(
    'How to authenticate (RFC 6750).',
    'Bearer realm="petstore", error="invalid_token"',
    '^Bearer realm="petstore"',
  ),
  'X-Content-Type-Options': text('Browsers must not guess the type.', 'nosniff', '^nosniff$'),
  'X-Request-Id': text(
    "Identifies the request in the service's log: quote it in support requests.",
    '6f9619ff-8b86-4d01-b42d-00cf4fc964ff',
    '^[\\w.:-]+$',
  ),
}
type Header = keyof typeof HEADER_COMPONENTS

const COMMON_HEADERS: Header[] = ['X-Request-Id', 'Cache-Control', 'X-Content-Type-Options']
const RATE_LIMIT_HEADERS: Header[] = ['RateLimit', 'RateLimit-Policy']
export const DEPRECATION_HEADERS: Header[] = ['Deprecation', 'Sunset', 'Link']

/** The headers of a response after rate limiting: the common ones and these. */
export function headers(...names: Header[]): Json {
  return refs([...COMMON_HEADERS, ...RATE_LIMIT_HEADERS, ...names])
}

function refs(names: readonly string[]): Json {
  return Object.fromEntries(names.map((name) => [name, ref('headers', name)]))
}

/** Errors that any operation may have: from authentication, http/connection or the service itself. */
// prettier-ignore
const COMMON_ERRORS = [
  'UNAUTHENTICATED', 'PERMISSION_DENIED', 'REQUEST_TIMEOUT', 'EXPECTATION_FAILED', 'RESOURCE_EXHAUSTED',
  'HEADERS_TOO_LARGE', 'INTERNAL', 'UNAVAILABLE',
] as const
/** Sent by http/connection before the application sees the request: without rate-limit headers. */
const SENT_BEFORE_APP = new Set<ErrorCode>(['REQUEST_TIMEOUT', 'HEADERS_TOO_LARGE'])
const SENT_BEFORE_RATE_LIMIT = new Set<ErrorCode>(['EXPECTATION_FAILED', 'UNAUTHENTICATED'])

export function toErrorResponses({ errors, document }: Operation): Json {
  const own = document.deprecated ? DEPRECATION_HEADERS : []
  const responses = [...errors, ...COMMON_ERRORS].map((code) => {
    const { status, description, headers: more = [] }: ErrorDefinition = ERRORS[code]
    // The application sends 408 itself when a body does not arrive in time.
    const beforeApp = SENT_BEFORE_APP.has(code) && !(code === 'REQUEST_TIMEOUT' && document.requestBody)
    const limited = !beforeApp && !SENT_BEFORE_RATE_LIMIT.has(code)
    const documented = {
      ...refs([...COMMON_HEADERS, ...more, ...(limited ? RATE_LIMIT_HEADERS : [])]),
      ...(!beforeApp && (code === 'INVALID_ARGUMENT' ? optionalHeaders(own) : refs(own))),
    }
    const value = { code, message: description, status }
    const content = json('Error', { error: { summary: code, value } })
    return [status, { description, headers: documented, content }] as const
  })
  return Object.fromEntries(responses)
}

/** For 400, which http/connection also sends, for malformed HTTP. */
function optionalHeaders(names: Header[]): Json {
  return Object.fromEntries(names.map((name) => [name, { ...HEADER_COMPONENTS[name], required: false }]))
}
