import { z } from 'zod'
import { Int64, PetStatus } from '../animals/animal.ts'
import { type ErrorCode, statusOf } from '../errors.ts'
import { DeprecatedSince, Sunset } from './deprecation.ts'

/** An OpenAPI document or a part of it: JSON. */
export type Json = { [member: string]: unknown }

/** What an error means to the client, and the headers that come with it. */
const errorMeanings: Partial<Record<ErrorCode, [meaning: string, ...headers: string[]]>> = {
  INVALID_ARGUMENT: ['A parameter or the body is malformed or out of range; the message names every field.'],
  UNAUTHENTICATED: ['There is no key, or it is not valid.', 'WWW-Authenticate'],
  PERMISSION_DENIED: ['The key lacks the scope that this takes.', 'WWW-Authenticate'],
  NOT_FOUND: ['No animal has this id.'],
  REQUEST_TIMEOUT: ['The request took too long to arrive.'],
  ABORTED: ['A request with the same Idempotency-Key is still in flight.', 'Retry-After'],
  GONE: ['The operation was removed.'],
  PAYLOAD_TOO_LARGE: ['The body is larger than 64 KiB.'],
  UNSUPPORTED_MEDIA_TYPE: [
    'The body is not application/json in UTF-8, or is compressed.',
    ...['Accept-Post', 'Accept-Encoding'],
  ],
  EXPECTATION_FAILED: ['An expectation other than 100-continue.'],
  IDEMPOTENCY_KEY_REUSED: ['The Idempotency-Key was used with another body.'],
  RESOURCE_EXHAUSTED: ['Too many calls with this key.', 'Retry-After'],
  HEADERS_TOO_LARGE: ['The headers are larger than 16 KiB.'],
  INTERNAL: ['A fault of the service. The message says nothing more.'],
  UNAVAILABLE: ['Certainly not executed: safe to retry.', 'Retry-After'],
  DEADLINE_EXCEEDED: ['The outcome is unknown: retry with the same Idempotency-Key.'],
}

/** Errors that any operation may answer: from authentication, from Node's HTTP server, from trouble on our side. */
const anywhere: ErrorCode[] = [
  ...(['UNAUTHENTICATED', 'PERMISSION_DENIED', 'REQUEST_TIMEOUT', 'EXPECTATION_FAILED', 'RESOURCE_EXHAUSTED'] as const),
  ...(['HEADERS_TOO_LARGE', 'INTERNAL', 'UNAVAILABLE'] as const),
]

/** The error answers of an operation: its own, and those that any may give. `more` are headers that it has on all. */
export function errors(codes: ErrorCode[], more: string[] = []): Json {
  const all = [...codes, ...anywhere].map((code) => {
    const [description, ...own] = errorMeanings[code] ?? ['']
    const value = { code, message: description, status: statusOf[code] }
    const content = json('Error', { error: { summary: code, value } })
    return [statusOf[code], { description, headers: headers(...own, ...more), content }] as const
  })
  return Object.fromEntries(all)
}

export const errorSchema = {
  type: 'object',
  description: 'Every error has this body.',
  required: ['code', 'message', 'status'],
  properties: {
    code: {
      type: 'string',
      description: 'Machine-readable; never changes its meaning. New codes may come.',
      pattern: '^[A-Z_]+$',
      maxLength: 64,
      examples: ['INVALID_ARGUMENT'],
    },
    message: {
      type: 'string',
      description: 'For people. Its words may change.',
      pattern: '\\S',
      maxLength: 2000,
      examples: ['name: must be a string'],
    },
    status: {
      type: 'integer',
      format: 'int32',
      description: 'The HTTP status.',
      minimum: 400,
      maximum: 599,
      examples: [400],
    },
  },
}

const text = (description: string, example: string, pattern = '^.+$') => ({
  description,
  schema: { type: 'string', pattern, maxLength: 2048 },
  example,
})
const seconds = (description: string, example: number) => ({
  description,
  schema: { type: 'integer', format: 'int32', minimum: 0, maximum: 86_400 },
  example,
})

export const headerObjects = {
  'Accept-Encoding': text('The codings of the body that POST takes, where another was sent (RFC 9110).', 'identity'),
  'Accept-Post': text('The media types that POST takes.', 'application/json'),
  'Cache-Control': text('Reads may be kept and must be revalidated; all else may not be kept.', 'private, no-cache'),
  Deprecation: text(
    'Since when the operation is deprecated (RFC 9745).',
    `@${DeprecatedSince.getTime() / 1000}`,
    '^@\\d+$',
  ),
  ETag: text('Changes when the body does; for `If-None-Match`.', '"PZ2xM0kWq8Yt1nQd7vRb4c"', '^"[A-Za-z0-9_-]+"$'),
  'Idempotent-Replayed': text('An earlier request with the same Idempotency-Key added the animal.', 'true', '^true$'),
  Link: text(
    'Related addresses (RFC 8288), relative to the URL of the request: `next`, `first`, `successor-version`.',
    '</v1/pets?limit=20&cursor=YWxsOjQy>; rel="next"',
  ),
  Location: text(
    'The address of the new animal, as a reference relative to the URL of the request (RFC 9110 §10.2.2).',
    '/v1/pets/42',
    '^(/v1/)?pets/\\d+$',
  ),
  RateLimit: text(
    'What is left of the budget of the key, where one is set (draft-ietf-httpapi-ratelimit-headers): points, and seconds until it is whole.',
    '"key";r=59999;t=60',
  ),
  'RateLimit-Policy': text('The budget, where one is set: points, and seconds of its window.', '"key";q=60000;w=60'),
  'Retry-After': seconds('Seconds to wait before the next try.', 1),
  Sunset: text('When the operation goes (RFC 8594).', Sunset.toUTCString()),
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

/** Headers that every answer of the application has. */
const always = ['X-Request-Id', 'Cache-Control', 'X-Content-Type-Options', 'RateLimit', 'RateLimit-Policy']

/** The headers of an answer: those named, and those that every answer has. */
export function headers(...names: string[]): Json {
  return Object.fromEntries([...always, ...names].map((name) => [name, ref('headers', name)]))
}

export function json(schema: string, examples: Json): Json {
  return { 'application/json': { schema: ref('schemas', schema), examples } }
}

export function ref(kind: string, name: string): Json {
  return { $ref: `#/components/${kind}/${name}` }
}

/** A zod schema as JSON Schema: what comes in; int64 by name, since bounds near 2^63 do not survive a double. */
export function toSchema(schema: z.ZodType, description?: string): Json {
  const { $schema: _dialect, ...result } = z.toJSONSchema(schema, {
    io: 'input',
    unrepresentable: 'any',
    override({ zodSchema, jsonSchema, path }) {
      // `.meta` makes a copy, so a schema is known by its definition.
      if (zodSchema._zod.def === Int64._zod.def) {
        delete jsonSchema.anyOf
        Object.assign(jsonSchema, { type: 'integer', format: 'int64' })
      }
      if (path.length && zodSchema._zod.def === PetStatus._zod.def) {
        for (const member of Object.keys(jsonSchema)) delete jsonSchema[member]
        jsonSchema.$ref = '#/components/schemas/PetStatus'
      }
    },
  })
  return { ...(description && { description }), ...result }
}
